//! The areas of the requirements and the tools of a validated server.

use super::{escaped, page::Page};
use crate::{model::Run, render::findings};

/// Maximum number of areas. The catalog has about 30.
const MAX_AREAS: usize = 60;

/// Counts by area of the requirements.
pub(super) fn push_areas(page: &mut Page, run: &Run) {
    if run.cases.is_empty() {
        return;
    }
    page.push("\n| area | passed | failed | warned | skipped |\n| --- | ---: | ---: | ---: | ---: |\n");
    for (area, counts) in findings::areas(run).into_iter().take(MAX_AREAS) {
        let (passed, failed, warned, skipped) = (counts.passed, counts.failed, counts.warned, counts.skipped);
        page.push(&format!("| {} | {passed} | {failed} | {warned} | {skipped} |\n", escaped(area, 100)));
    }
}

/// The tools that were called, and why the others were not.
pub(super) fn push_tool_calls(page: &mut Page, run: &Run) {
    if run.tool_calls.is_empty() {
        return;
    }
    let (called, not_called) = findings::tool_calls(run);
    let called = if called.is_empty() { "none".to_owned() } else { called.join(", ") };
    page.push(&format!("\n- **called tools:** {}\n", escaped(&called, 1_000)));
    for (reason, tools) in not_called {
        page.push(&format!("- **not called:** {}: {}\n", escaped(&tools.join(", "), 1_000), escaped(reason, 200)));
    }
}

/// How model providers accept the tools.
pub(super) fn push_portability(page: &mut Page, run: &Run) {
    if run.portability.is_empty() {
        return;
    }
    page.push("\n| provider | tools with the same schema | other | rejected | first difference |\n");
    page.push("| --- | ---: | ---: | ---: | --- |\n");
    for one in &run.portability {
        let rejected = one.different.iter().filter(|tool| tool.rejected).count();
        let first = one.different.first().map(findings::difference).unwrap_or_default();
        let (name, other) = (escaped(&one.provider, 100), one.different.len() - rejected);
        page.push(&format!("| {name} | {} | {other} | {rejected} | {} |\n", one.equal, escaped(&first, 300)));
    }
}
