// What a case found: its checks, and how its connections and processes ended.

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

// The sections of a case: findings, messages, connections and processes, standard error.
const sectionsOf = (details) => {
  const reported = details.checks.filter((check) => check.severity > 1);
  const others = details.checks.filter((check) => check.severity <= 1);
  return [
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
