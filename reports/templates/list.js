// The list of cases and its filters. Rows are added while the reader scrolls.

const ROWS = 100;
const NAMES = ["q", "verdict", "area", "transport", "revision", "run"];
const list = byId("list");
let filtered = [];
let rendered = 0;

const filters = () => Object.fromEntries(NAMES.map((name) => [name, byId(name).value]));

const matches = (one, wanted) => {
  if (wanted.run !== "" && String(one.run) !== wanted.run) return false;
  if (wanted.transport !== "" && one.transport !== wanted.transport) return false;
  if (wanted.revision !== "" && one.revision !== wanted.revision) return false;
  // A case of a server has a verdict in each of its areas.
  if (wanted.area !== "") {
    const area = one.areas.find(([area]) => index.areas[area] === wanted.area);
    if (!area || (wanted.verdict !== "" && index.verdicts[area[1]] !== wanted.verdict)) return false;
  } else if (wanted.verdict !== "" && one.verdict !== wanted.verdict) {
    return false;
  }
  const words = wanted.q.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  one.searched ||= [one.id, one.title, ...one.failed].join("\n").toLowerCase();
  return words.every((word) => one.searched.includes(word));
};

const row = (one) => {
  const scenario = one.id.split("@")[0];
  const subject = index.runs.length > 1 ? ` · ${visible(index.runs[one.run].subject)}` : "";
  return element("li", {},
    element("a", { href: linkTo(one) },
      badge(one.verdict, one.known ? "known" : one.verdict),
      element("span", { class: "names" },
        element("span", { class: "id" }, scenario),
        element("span", { class: "sub" }, one.title, subject)),
      element("span", { class: "meta" }, one.transport),
      element("span", { class: "meta" }, one.revision),
      element("span", { class: "meta time" }, duration(one.ms))));
};

const more = () => {
  const next = filtered.slice(rendered, rendered + ROWS);
  rendered += next.length;
  list.append(...next.map(row));
};

// Adds rows until the end of the list is well below the visible part of the page.
const fill = () => {
  while (rendered < filtered.length && list.offsetParent && list.getBoundingClientRect().bottom < innerHeight + 1500) more();
};

const show = () => {
  const wanted = filters();
  filtered = cases.filter((one) => matches(one, wanted));
  filtered.sort((a, b) => a.known - b.known || b.severity - a.severity || a.position - b.position);
  list.replaceChildren();
  rendered = 0;
  more();
  const count = (number) => `${number.toLocaleString("en")} ${number === 1 ? "case" : "cases"}`;
  byId("shown").textContent = filtered.length === cases.length ? count(cases.length) : `${count(filtered.length)} of ${cases.length.toLocaleString("en")}`;
};

// Filters as the fragment of the page, so that they can be sent as a link.
const filterLink = () => {
  const set = Object.entries(filters()).filter(([, value]) => value !== "");
  return `#cases${set.length ? "?" : ""}${set.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&")}`;
};

const setFilters = (query) => {
  const wanted = new URLSearchParams(query);
  for (const name of NAMES) byId(name).value = wanted.get(name) || "";
  show();
};

const option = (value, text) => element("option", { value }, text);

const prepareList = () => {
  const used = (name) => [...new Set(cases.map((one) => one[name]))].sort();
  const verdicts = [...index.verdicts].reverse().filter((verdict) => cases.some((one) => one.verdict === verdict));
  byId("verdict").append(...verdicts.map((verdict) => option(verdict, verdict)));
  byId("area").append(...[...index.areas].sort().map((area) => option(area, area)));
  byId("transport").append(...used("transport").map((transport) => option(transport, transport)));
  byId("revision").append(...used("revision").map((revision) => option(revision, revision)));
  byId("run").append(...index.runs.map((run, number) => option(String(number), run.subject)));
  byId("run-filter").hidden = index.runs.length < 2;
  const changed = () => {
    show();
    history.replaceState(null, "", filterLink());
  };
  byId("filters").addEventListener("input", changed);
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("filters").addEventListener("reset", () => setTimeout(changed));
  addEventListener("scroll", fill, { passive: true });
  addEventListener("resize", fill, { passive: true });
};
