// The page of a case.

const ENDS = {
  "closed-by-client": "the client closed its end of the connection",
  "closed-by-server": "the server closed the connection",
  sigterm: "the server received SIGTERM",
  exit: "the server exited",
};

const field = (name, ...value) => [element("dt", {}, name), element("dd", {}, ...value)];

const checkOf = (check) => {
  const { rule, verdict, observed } = check;
  const isReason = verdict === "blocked" || verdict === "skipped";
  const source = rule.link ? element("a", { href: rule.link, rel: "noreferrer" }, "Specification") : rule.url;
  return element("section", { class: `check ${verdict}` },
    element("h3", {}, badge(verdict), element("span", {}, rule.check)),
    element("dl", { class: "fields" },
      field("Rule", element("strong", {}, rule.level), " ", rule.text, " ", source, " ", element("code", {}, rule.requirement)),
      field("Expected", rule.expected),
      field(isReason ? "Reason" : "Observed", observed),
      check.frames.length ? field("Frames", check.frames.map((seq) => `#${seq}`).join(", ")) : [],
      rule.advice && check.severity > 1 ? field("Advice", rule.advice) : []));
};

const exit = (process) => {
  const how = process.signal !== undefined ? `signal ${process.signal} terminated it` : process.code !== undefined ? `exited with code ${process.code}` : "did not exit by itself";
  const when = process.at_us !== undefined ? ` after ${time(process.at_us)}` : "";
  return `${how}${when}${process.killed_on_purpose ? " (the scenario kills it)" : ""}`;
};

const endOf = (end) => {
  const left = (end.descendants || []).filter((one) => one.left).length;
  return [
    element("h2", {}, "Connection and processes"),
    element("dl", { class: "fields" },
      end.timed_out ? field("Timeout", "the workbench stopped the case") : [],
      end.connections ? field("Connection", element("ul", { class: "end" }, end.connections.map((one) => element("li", {}, `${time(one.at_us)}: ${ENDS[one.event] || visible(one.event)} (${visible(one.server)})`)))) : [],
      end.process ? field("Process", `process under test: ${exit(end.process)}`) : [],
      end.descendants ? field("Below it", element("ul", { class: "end" }, end.descendants.map((one) => element("li", {}, element("code", {}, one.command), ` (process ${one.pid})`, one.left ? element("strong", { class: "failed-text" }, " was left running") : undefined)))) : [],
      end.descendants && !left ? field("Left over", "no process") : []),
  ];
};

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
  const reported = details.checks.filter((check) => check.severity > 1);
  const others = details.checks.filter((check) => check.severity <= 1);
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
    reported.length ? element("h2", {}, "Findings") : undefined,
    ...reported.map(checkOf),
    others.length
      ? element("details", { class: "others", open: reported.length === 0 },
          element("summary", {}, `${others.length} ${others.length === 1 ? "check" : "checks"} passed or skipped`), ...others.map(checkOf))
      : undefined,
    details.frames.length ? element("h2", {}, "Messages") : undefined,
    details.frames.length ? sequence(details) : undefined,
    ...(details.end ? endOf(details.end) : []),
    details.stderr.trim() ? element("h2", {}, "End of standard error") : undefined,
    details.stderr.trim() ? element("pre", { class: "stderr", tabindex: "0", role: "region", "aria-label": "End of standard error" }, document.createTextNode(visibleLines(details.stderr))) : undefined,
  ].filter(Boolean);
};
