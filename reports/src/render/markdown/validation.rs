//! A validation: the areas first, then the findings, the most severe first.

use super::{code, escaped, linked};
use crate::{
    model::{Run, Verdict},
    render::{
        case::{self, CaseStyle},
        findings::{self, Finding},
        paint::Paint,
    },
};

/// Maximum number of findings with details. Some pages reject long summaries.
const MAX_DETAILED: usize = 25;
/// Maximum number of affected cases that are listed.
const MAX_AFFECTED: usize = 4;
/// Width of the frames.
const WIDTH: usize = 100;

pub(super) fn push(out: &mut String, run: &Run) {
    push_areas(out, run);
    push_tool_calls(out, run);
    push_portability(out, run);
    let found = findings::findings(run);
    for (position, finding) in found.iter().enumerate() {
        if position == MAX_DETAILED {
            out.push_str("\n### More findings\n\n");
        }
        if position < MAX_DETAILED && !finding.is_known {
            push_finding(out, run, finding);
        } else {
            let note = if finding.is_known { " (known failure)" } else { "" };
            out.push_str(&format!("- {} {}{note}\n", finding.verdict.as_str(), code(&finding.check.id)));
        }
    }
}

fn push_areas(out: &mut String, run: &Run) {
    out.push_str("\n| area | passed | failed | warned | skipped |\n| --- | ---: | ---: | ---: | ---: |\n");
    for (area, counts) in findings::areas(run) {
        let (passed, failed, warned, skipped) = (counts.passed, counts.failed, counts.warned, counts.skipped);
        out.push_str(&format!("| {} | {passed} | {failed} | {warned} | {skipped} |\n", escaped(area, 100)));
    }
}

fn push_tool_calls(out: &mut String, run: &Run) {
    if run.tool_calls.is_empty() {
        return;
    }
    let (called, not_called) = findings::tool_calls(run);
    let called = if called.is_empty() { "none".to_owned() } else { called.join(", ") };
    out.push_str(&format!("\n- **called tools:** {}\n", escaped(&called, 1_000)));
    for (reason, tools) in not_called {
        out.push_str(&format!("- **not called:** {}: {}\n", escaped(&tools.join(", "), 1_000), escaped(reason, 200)));
    }
}

fn push_portability(out: &mut String, run: &Run) {
    if run.portability.is_empty() {
        return;
    }
    out.push_str("\n| provider | tools with the same schema | other | rejected | first difference |\n");
    out.push_str("| --- | ---: | ---: | ---: | --- |\n");
    for one in &run.portability {
        let rejected = one.different.iter().filter(|tool| tool.rejected).count();
        let first = one.different.first().map(findings::difference).unwrap_or_default();
        let (name, other) = (escaped(&one.provider, 100), one.different.len() - rejected);
        out.push_str(&format!("| {name} | {} | {other} | {rejected} | {} |\n", one.equal, escaped(&first, 300)));
    }
}

fn push_finding(out: &mut String, run: &Run, finding: &Finding<'_>) {
    let Finding { check, case, .. } = finding;
    let requirement = &check.requirement;
    let rule = linked(&escaped(&requirement.text, 300), &requirement.url);
    out.push_str(&format!("\n### {}: {}\n\n", finding.verdict.as_str(), code(&check.id)));
    out.push_str(&format!("- **{}:** {rule} ({})\n", requirement.level.as_str(), code(&requirement.id)));
    out.push_str(&format!("- **expected:** {}\n", escaped(&check.expected, 500)));
    let name = if finding.verdict == Verdict::Blocked { "reason" } else { "observed" };
    out.push_str(&format!("- **{name}:** {}\n", escaped(&check.observed, 1_000)));
    if let Some(advice) = &requirement.advice {
        out.push_str(&format!("- **advice:** {}\n", escaped(advice, 500)));
    }
    let listed: Vec<String> = finding.affected.iter().take(MAX_AFFECTED).map(|id| code(id)).collect();
    let more = match finding.affected.len().saturating_sub(MAX_AFFECTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    out.push_str(&format!("- **affects:** {}{more}\n", listed.join(", ")));
    let evidence = case::evidence(case, check, CaseStyle { paint: Paint::PLAIN, width: WIDTH, all: false });
    if !evidence.is_empty() {
        out.push_str(&format!("\n<details><summary>Messages</summary>\n\n{}\n</details>\n", block("text", &evidence)));
    }
    out.push_str(&format!("\nRepeat only this check:\n\n{}", block("sh", &findings::repeat_command(run, finding))));
}

/// A block of code. Its fence is longer than any row of backticks in the text, which could end it otherwise.
fn block(language: &str, text: &str) -> String {
    let longest = text.split(|one| one != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{text}\n{fence}\n")
}

#[cfg(test)]
mod tests {
    use super::Verdict;
    use crate::{
        model::{RunKind, ToolCalls},
        render::{Format as _, Style, markdown::Markdown},
        sample,
    };

    #[test]
    fn a_validation_has_areas_and_findings() {
        let mut run = sample::run(vec![
            sample::case("server/tools", Verdict::Warned),
            sample::failed(),
            sample::case("server/ping", Verdict::Passed),
        ]);
        run.header.kind = RunKind::Validate;
        run.header.subject = "server --stdio".to_owned();
        let reason = |text: &str| Some(text.to_owned());
        run.tool_calls = vec![
            ToolCalls { tool: "read".to_owned(), calls: 12, reason: None },
            ToolCalls { tool: "write".to_owned(), calls: 0, reason: reason("it is not annotated as read-only") },
        ];
        insta::assert_snapshot!("validation", Markdown.render(&run, &Style::default()).unwrap());
    }

    #[test]
    fn the_text_of_a_server_cannot_end_a_block() {
        let text = "```\n# not a heading\n````";
        assert_eq!(super::block("text", text), format!("`````text\n{text}\n`````\n"));
    }
}
