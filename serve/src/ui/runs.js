// Validation runs: the list, the live page of a run, its cases, reports and comparisons.

const VERDICTS = Object.keys(SIGNS);
const severityOf = (verdict) => VERDICTS.indexOf(verdict);
// Runs that were read, by id: their last state and their cases.
const known = new Map();

const startRun = async (options) => {
  const { id } = await postJson("/runs", options);
  location.hash = link("run", id);
};

const runBadge = ({ status, passed, complete }) => {
  if (status === "running") return element("span", { class: "badge status connecting" }, "running");
  if (status === "failed") return badge("failed", "not tested");
  if (passed === undefined) return element("span", { class: "badge status" }, "earlier");
  return badge(passed ? "passed" : "failed", complete ? (passed ? "passed" : "failed") : "incomplete");
};

const showRuns = async () => {
  const { runs } = await getJson("/runs");
  const rows = runs.map((run) => element("li", { class: "plain-row" }, runBadge(run), element("a", { href: link("run", run.id) }, run.server), element("span", { class: "meta" }, run.header ? `${run.header.kind}, ${run.header.started}` : ""), element("span", { class: "meta" }, run.header ? `${run.header.planned} cases` : "")));
  return ["Runs", element("ul", { class: "list", id: "runs", "aria-label": "Runs" }, rows), ...(rows.length ? [] : [element("p", { class: "note" }, "No runs. Validate a server first.")])];
};

// A case of the run format as the data of `sectionsOf`.
const detailsOf = (one) => ({
  stderr: one.stderr || "",
  end: one.end,
  checks: one.checks.map(({ id, verdict, requirement, expected, observed, frames }) => ({
    verdict, observed, frames: frames || [], severity: severityOf(verdict),
    rule: { check: id, expected, level: requirement.level, text: requirement.text, url: requirement.url, requirement: requirement.id, advice: requirement.advice, link: /^https:\/\//.test(requirement.url) ? requirement.url : undefined },
  })),
  frames: one.frames.map(({ seq, at_us, from_client, server, http, headers, body, truncated }) => ({
    seq, at: at_us, byClient: from_client, server, http, headers: headers || {}, body, truncated,
  })),
});

const caseRow = (run, one) => {
  const first = one.checks.find((check) => severityOf(check.verdict) > 1);
  const row = element("li", {},
    element("a", { href: link("case", run, one.id) },
      badge(one.verdict),
      element("span", { class: "names" }, element("span", { class: "id" }, one.scenario), element("span", { class: "sub" }, first ? `${first.id}: ${first.observed}` : one.title)),
      element("span", { class: "meta" }, one.transport),
      element("span", { class: "meta" }, one.revision),
      element("span", { class: "meta time" }, duration(one.elapsed_ms))));
  row.severity = severityOf(one.verdict);
  return row;
};

// Adds a row after all rows that are at least as severe.
const insert = (list, row) => {
  const next = [...list.children].find((other) => other.severity < row.severity);
  list.insertBefore(row, next || null);
};

// Opens the HTML report. It inherits the policy of this page, which allows its script and its style, and no network.
const openReport = async (id, place) => {
  const text = await (await respond("GET", `${path("runs", id)}/report?format=html`)).text();
  const url = URL.createObjectURL(new Blob([text], { type: "text/html" }));
  const opened = element("a", { id: "report-link", target: "_blank", rel: "noopener", href: url }, "Open the report");
  place.replaceChildren(element("p", {}, opened, " ", element("a", { href: url, download: "report.html" }, "Save")));
  opened.click();
};

const comparisonView = ({ counts, unchanged, changes }) => {
  const rows = changes.map(({ kind, case: id, check, old, new: now, observed, measured }) => {
    const values = measured ? `${measured.what}: ${measured.old} to ${measured.new} ${measured.unit}` : `${old || "absent"} to ${now || "absent"}`;
    return element("tr", {}, element("td", {}, kind), element("td", {}, id), element("td", {}, check || ""), element("td", {}, values), element("td", {}, observed || ""));
  });
  const summary = Object.entries(counts).filter(([, count]) => count > 0).map(([kind, count]) => `${count} ${kind}`);
  const head = element("thead", {}, element("tr", {}, ["Change", "Case", "Check", "Verdict", "Observed"].map((name) => element("th", { scope: "col" }, name))));
  return element("div", { id: "comparison" }, element("p", {}, [...summary, `${unchanged} unchanged`].join(", ")),
    rows.length ? element("div", { class: "scroll", role: "region", "aria-label": "Changes", tabindex: "0" }, element("table", { class: "plain" }, head, element("tbody", {}, rows))) : undefined);
};

const compareWith = async (id) => {
  const { runs } = await getJson("/runs");
  const others = runs.filter((run) => run.id !== id && run.status === "finished");
  if (others.length === 0) return [];
  const select = element("select", { id: "older" }, others.map((run) => element("option", { value: run.id }, `${run.server}, ${run.header?.started || run.id}`)));
  const place = element("div", {});
  const compare = button("Compare");
  act(compare, place, async () => place.replaceChildren(comparisonView(await getJson(`${path("runs", id)}/comparison?old=${encodeURIComponent(select.value)}`))));
  return [element("h2", {}, "Compare"), element("div", { class: "actions" }, element("label", { for: "older" }, "With the earlier run"), select, compare), place];
};

// Reads a run: live if it is one of this process, otherwise its report.
const followRun = async (id, signal, update) => {
  const state = { view: undefined, cases: new Map() };
  known.set(id, state);
  const add = (one) => state.cases.set(one.id, one);
  try {
    await eachEvent(`${path("runs", id)}/events`, signal, (event, data) => {
      if (event === "case") add(data);
      else state.view = data;
      update(state, event === "case" ? data : undefined);
    });
  } catch (error) {
    if (error.status !== 404) throw error;
    const run = await getJson(`${path("runs", id)}/report`);
    const complete = run.complete;
    state.view = { id, server: run.header.subject, status: "finished", header: run.header, complete };
    for (const one of run.cases) {
      add(one);
      update(state, one);
    }
  }
  return state;
};

const showRun = (id, signal) => {
  const [said, bar] = [element("p", { role: "status", id: "state" }, "Waiting for the server"), element("progress", { "aria-label": "Finished cases" })];
  const counted = element("ul", { class: "counted", "aria-label": "Verdicts" });
  const list = element("ol", { class: "list", id: "cases", "aria-label": "Cases" });
  const [actions, place, compare] = [element("div", { class: "actions" }), element("div", {}), element("div", {})];
  const cancel = button("Cancel");
  act(cancel, place, () => postJson(`${path("runs", id)}/cancel`));
  actions.append(cancel);
  const counts = new Map();
  const update = ({ view, cases }, one) => {
    if (view?.header) bar.max = view.header.planned;
    bar.value = cases.size;
    if (one) {
      insert(list, caseRow(id, one));
      counts.set(one.verdict, (counts.get(one.verdict) || 0) + 1);
      const sorted = [...counts].sort(([first], [second]) => severityOf(second) - severityOf(first));
      counted.replaceChildren(...sorted.map(([verdict, count]) => element("li", {}, badge(verdict, `${count} ${verdict}`))));
    } else if (view?.status === "running") {
      said.textContent = `Running ${view.header.planned} cases`;
    }
  };
  const ended = async ({ view, cases }) => {
    said.replaceChildren(runBadge(view), ` ${cases.size} cases`);
    bar.hidden = true;
    if (view.error) place.replaceChildren(problem(view.error.help ? `${view.error.message}\nhelp: ${view.error.help}` : view.error.message));
    const [report, again] = [button("Report"), button("Repeat")];
    act(report, place, () => openReport(id, place));
    act(again, place, () => startRun({ server: view.server, seed: view.header?.seed, callTools: view.header?.call_tools }));
    actions.replaceChildren(...(view.status === "finished" ? [report] : []), ...(servers.has(view.server) ? [again] : []));
    if (view.status === "finished") compare.replaceChildren(...(await compareWith(id)));
  };
  followRun(id, signal, update).then(ended).catch((error) => {
    if (signal.aborted) return;
    bar.hidden = true;
    actions.replaceChildren();
    said.replaceChildren(problem(error));
  });
  return ["Validation", said, bar, counted, actions, place, element("h2", {}, "Cases"), list, compare];
};

const showCase = async (run, id, signal) => {
  const found = known.get(run)?.cases.get(id) ?? (await followRun(run, signal, () => {})).cases.get(id);
  if (!found) throw new Error(`run ${run} has no case ${id}`);
  const { view } = known.get(run);
  const place = element("div", {});
  const details = detailsOf(found);
  const sections = sectionsOf(details);
  const repeat = (text, only) => {
    const again = button(text);
    act(again, place, () => startRun({ server: view.server, only: [only], revisions: [found.revision], seed: view.header?.seed, callTools: view.header?.call_tools }));
    return element("div", { class: "actions" }, again);
  };
  if (servers.has(view.server)) {
    const shown = sections.flatMap((section) => [section, ...section.querySelectorAll(".check")]).filter((section) => section.matches(".check"));
    const checks = [...details.checks.filter((check) => check.severity > 1), ...details.checks.filter((check) => check.severity <= 1)];
    // The path of an expectation is not the id of a check; its scenario is repeated.
    checks.forEach((check, position) => shown[position].append(repeat("Repeat this check", /^[\w-]+$/.test(check.rule.check) ? check.rule.check : found.scenario)));
  }
  return [found.scenario,
    element("p", { class: "crumbs" }, element("a", { href: link("run", run) }, "← All cases")),
    element("p", { class: "lead" }, found.title),
    element("dl", { class: "facts" }, [["Verdict", badge(found.verdict)], ["Transport", found.transport], ["Revision", found.revision], ["Duration", duration(found.elapsed_ms)]].map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value)))),
    place, ...sections];
};
