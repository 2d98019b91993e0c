// The page of a case.

// The case before or after this one in the filtered list.
const neighbor = (one, step) => filtered[filtered.indexOf(one) + step];

const crumbs = (one) => {
  const [before, after] = [neighbor(one, -1), neighbor(one, 1)];
  const at = filtered.indexOf(one) + 1;
  return element("nav", { class: "crumbs", "aria-label": "Case" },
    element("a", { href: filterLink(), id: "back" }, "← All cases"),
    before ? element("a", { href: linkTo(before) }, "Previous") : undefined,
    after ? element("a", { href: linkTo(after) }, "Next") : undefined,
    at ? element("span", { class: "at" }, `${at} of ${filtered.length}`) : undefined);
};

const command = (one) => {
  const run = index.runs[one.run];
  const scenario = one.id.split("@")[0];
  const isPlain = [scenario, one.transport, one.revision].every((word) => /^[\w./-]+$/.test(word));
  if (run.kind !== "conformance" || run.subject !== "the built-in client" || !isPlain) return undefined;
  return element("p", {}, element("code", { class: "command" }, `mcp-workbench conformance ${scenario} --transport ${one.transport} --revision ${one.revision} --seed ${run.seed}`));
};

const pageOf = (one) => {
  const details = detailsOf(one);
  const heading = element("h1", { tabindex: "-1" }, one.id.split("@")[0]);
  return [
    crumbs(one),
    element("div", { class: "head" },
      element("div", {}, heading, element("p", { class: "lead" }, one.title)),
      element("p", { class: `result ${one.verdict}` }, one.known ? `${one.verdict}, known` : one.verdict)),
    element("dl", { class: "facts" },
      [["Transport", one.transport], ["Revision", one.revision], ["Duration", duration(one.ms)], ["Subject", index.runs[one.run].subject], ["Checks", String(details.checks.length)]]
        .map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value)))),
    command(one),
    ...sectionsOf(details),
  ].filter(Boolean);
};
