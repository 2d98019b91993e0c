//! The head of a run: subject, result, facts and counts.

use super::{
    findings,
    labels::{kind, sign},
    link, load, matrix,
};
use crate::{
    model::{Run, RunKind},
    render::{findings as found, outcome, text},
};

/// Maximum number of reasons why a run failed.
const MAX_REASONS: usize = 20;
/// Maximum number of tools per list.
const MAX_TOOLS: usize = 200;

/// One run.
pub(super) struct RunSummary {
    /// Counted from 0.
    pub(super) number: usize,
    /// `server`, `client` or `load test`, for the heading.
    pub(super) role: &'static str,
    pub(super) subject: String,
    pub(super) passed: bool,
    pub(super) reasons: Vec<String>,
    /// Names and values.
    pub(super) facts: Vec<(&'static str, String)>,
    pub(super) counts: Vec<Count>,
    /// Number of finished cases.
    pub(super) total: usize,
    pub(super) findings: Vec<findings::FindingView>,
    pub(super) omitted_findings: usize,
    pub(super) matrix: Option<matrix::Matrix>,
    pub(super) loads: Vec<load::LoadView>,
    pub(super) tools: Vec<(String, String)>,
    pub(super) portability: Vec<PortabilityView>,
}

/// Number of cases with a verdict.
pub(super) struct Count {
    pub(super) verdict: &'static str,
    pub(super) sign: &'static str,
    pub(super) count: usize,
    pub(super) href: String,
    /// Start and width in a bar that is 100 wide.
    pub(super) start: f64,
    pub(super) width: f64,
}

/// How a model provider accepts the tools of a server.
pub(super) struct PortabilityView {
    pub(super) provider: String,
    pub(super) equal: usize,
    pub(super) different: Vec<String>,
}

impl RunSummary {
    /// `number` counts from 0.
    pub(super) fn new(run: &Run, number: usize, runs: usize) -> Self {
        let in_links = (runs > 1).then_some(number);
        let (findings, omitted_findings) = findings::findings(run, in_links);
        Self {
            number,
            role: match run.header.kind {
                RunKind::Conformance => "Client conformance",
                RunKind::Validate => "Server validation",
                RunKind::Bench => "Load test",
            },
            subject: text::bounded_line(&run.header.subject, 300),
            passed: run.passed(),
            reasons: outcome::run_failures(run).into_iter().map(|(_, reason)| reason).take(MAX_REASONS).collect(),
            facts: facts(run),
            counts: counts(run, in_links),
            total: run.cases.len(),
            findings,
            omitted_findings,
            matrix: matrix::for_run(run, number, runs),
            loads: run.loads.iter().map(load::LoadView::new).collect(),
            tools: tools(run),
            portability: run.portability.iter().map(portability).collect(),
        }
    }
}

/// The title of the page of one run.
pub(super) fn title(run: &Run) -> String {
    let result = outcome::word(run.passed());
    format!("{}: {result} ({})", text::bounded_line(&run.header.subject, 120), kind(run.header.kind))
}

fn facts(run: &Run) -> Vec<(&'static str, String)> {
    let header = &run.header;
    let mut facts = vec![
        ("Command", kind(header.kind).to_owned()),
        ("Started", text::bounded_line(&header.started, 40).replace('T', " ").replace('Z', " UTC")),
        ("Duration", outcome::duration(run.elapsed_ms)),
        ("Planned cases", header.planned.to_string()),
        ("Seed", header.seed.to_string()),
        ("Workbench", text::bounded_line(&header.workbench, 60)),
    ];
    if let Some(profile) = header.profile {
        facts.push(("Profile", profile.as_str().to_owned()));
    }
    if run.baseline.is_some() {
        facts.push(("Known failures", outcome::known_failures(run).to_string()));
    }
    facts
}

fn counts(run: &Run, number: Option<usize>) -> Vec<Count> {
    let number = number.map(|number| number.to_string());
    let total = run.cases.len().max(1) as f64;
    let mut start = 0.0;
    let counts = outcome::counts(run).into_iter().map(|(verdict, count)| {
        let mut filters = vec![("verdict", verdict.as_str())];
        filters.extend(number.as_deref().map(|number| ("run", number)));
        let width = count as f64 * 100.0 / total;
        start += width;
        let href = link::to_cases(&filters);
        Count { verdict: verdict.as_str(), sign: sign(verdict), count, href, start: start - width, width }
    });
    counts.collect()
}

/// The tools that were called, and the others by the reason why not.
fn tools(run: &Run) -> Vec<(String, String)> {
    let (called, not_called) = found::tool_calls(run);
    let listed = |tools: &[String]| {
        let shown: Vec<_> = tools.iter().take(MAX_TOOLS).map(|tool| text::bounded_line(tool, 100)).collect();
        shown.join(", ")
    };
    let mut lists = Vec::new();
    if !called.is_empty() {
        lists.push(("Called (number of calls)".to_owned(), listed(&called)));
    }
    for (reason, tools) in not_called.into_iter().take(MAX_REASONS) {
        let tools: Vec<String> = tools.into_iter().map(str::to_owned).collect();
        lists.push((format!("Not called: {}", text::bounded_line(reason, 300)), listed(&tools)));
    }
    lists
}

fn portability(one: &crate::model::Portability) -> PortabilityView {
    PortabilityView {
        provider: text::bounded_line(&one.provider, 60),
        equal: one.equal,
        different: one
            .different
            .iter()
            .take(MAX_TOOLS)
            .map(|tool| text::bounded_line(&found::difference(tool), 500))
            .collect(),
    }
}
