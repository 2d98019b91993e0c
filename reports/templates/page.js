// Links within the page, keys, and the theme.

const overview = byId("overview");
const article = byId("case");
const title = document.title;
let scrolled = 0;
let opened;

const showOverview = () => {
  const last = opened;
  opened = undefined;
  article.hidden = true;
  overview.hidden = false;
  document.title = title;
  if (last) {
    scrollTo(0, scrolled);
    fill();
    list.children[filtered.indexOf(last)]?.firstChild.focus({ preventScroll: true });
  }
};

const showCase = (one) => {
  if (!opened) scrolled = scrollY;
  opened = one;
  overview.hidden = true;
  article.replaceChildren(...pageOf(one));
  article.hidden = false;
  document.title = `${visible(one.id)}: ${one.verdict}`;
  scrollTo(0, 0);
  article.querySelector("h1").focus({ preventScroll: true });
};

const showMissing = (id) => {
  opened = undefined;
  overview.hidden = true;
  article.replaceChildren(element("h1", { tabindex: "-1" }, "No such case"), element("p", {}, id), element("p", {}, element("a", { href: "#cases" }, "← All cases")));
  article.hidden = false;
};

const decoded = (text) => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

const route = () => {
  const [path, query] = location.hash.split("?");
  if (path.startsWith("#case/")) {
    const id = decoded(path.slice("#case/".length));
    const run = new URLSearchParams(query).get("run");
    const found = cases.find((one) => one.id === id && (run === null || String(one.run) === run));
    return found ? showCase(found) : showMissing(id);
  }
  const returns = Boolean(opened);
  if (path === "#cases") setFilters(query);
  showOverview();
  if (path === "#cases") {
    if (!returns) byId("cases").scrollIntoView();
  } else if (path.length > 1) {
    byId(path.slice(1))?.scrollIntoView();
  }
};

// Focuses the next or the previous row, or opens the next or the previous case.
const step = (by) => {
  if (opened) {
    const next = neighbor(opened, by);
    if (next) location.hash = linkTo(next);
    return;
  }
  const at = [...list.children].findIndex((item) => item.contains(document.activeElement));
  if (at + by >= rendered) more();
  const next = list.children[Math.max(at + by, 0)];
  next?.firstChild.focus();
  next?.scrollIntoView({ block: "nearest" });
};

const pressed = (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.matches("input, select, textarea");
  if (event.key === "Escape") {
    if (opened) location.hash = filterLink();
    else if (typing) event.target.blur();
    return;
  }
  if (typing) return;
  if (event.key === "/") {
    if (opened) location.hash = filterLink();
    event.preventDefault();
    setTimeout(() => byId("q").focus());
  }
  if (event.key === "j") step(1);
  if (event.key === "k") step(-1);
};

const THEMES = ["system", "light", "dark"];

const setTheme = (theme) => {
  byId("theme").textContent = `Theme: ${theme}`;
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
};

// Storage can be forbidden for files.
const stored = (theme) => {
  try {
    if (theme) localStorage.setItem("mcp-workbench-theme", theme);
    return localStorage.getItem("mcp-workbench-theme");
  } catch {
    return null;
  }
};

const prepareTheme = () => {
  let theme = THEMES.includes(stored()) ? stored() : "system";
  setTheme(theme);
  byId("theme").addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    setTheme(theme);
    stored(theme);
  });
};

for (const hidden of document.querySelectorAll(".needs-script")) hidden.hidden = false;
prepareTheme();
if (cases.length > 0) {
  prepareList();
  show();
  addEventListener("hashchange", route);
  addEventListener("keydown", pressed);
  if (location.hash) route();
}
