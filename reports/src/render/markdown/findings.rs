//! The findings, the most severe first, each folded: its first line says what failed.

use super::{code, escaped, html_code, linked, page::Page};
use crate::{
    model::{Run, RunKind, Verdict},
    render::{
        case::{self, CaseStyle},
        findings::{self, Finding},
        paint::Paint,
    },
};

/// Maximum number of findings with details; the others are listed.
const MAX_DETAILED: usize = 25;
/// Maximum number of findings that are listed.
const MAX_LISTED: usize = 200;
/// Maximum number of affected cases that are listed.
const MAX_AFFECTED: usize = 20;
/// Width of the frames.
const WIDTH: usize = 100;

pub(super) fn push(page: &mut Page, run: &Run) {
    let found = findings::findings(run);
    let (known, new): (Vec<_>, Vec<_>) = found.iter().partition(|finding| finding.is_known);
    for finding in new.iter().take(MAX_DETAILED) {
        page.push(&folded(run, finding));
    }
    let rest = new.iter().skip(MAX_DETAILED);
    push_list(page, "More findings", rest.copied());
    push_list(page, "Known failures", known.into_iter());
}

/// Findings without details.
fn push_list<'f, 'r: 'f>(page: &mut Page, title: &str, found: impl Iterator<Item = &'f Finding<'r>>) {
    for (position, finding) in found.take(MAX_LISTED).enumerate() {
        let before = if position == 0 { format!("\n### {title}\n\n") } else { String::new() };
        let (verdict, cases) = (finding.verdict.as_str(), cases(finding));
        page.push(&format!("{before}- {verdict} {} ({cases})\n", code(&finding.check.id)));
    }
}

/// One finding. GitHub shows only the summary until it is opened.
fn folded(run: &Run, finding: &Finding<'_>) -> String {
    let Finding { check, case, .. } = finding;
    let requirement = &check.requirement;
    let (verdict, cases) = (finding.verdict.as_str(), cases(finding));
    let summary = format!("<b>{verdict}</b> {} ({cases})", html_code(&check.id, 200));
    let rule = linked(&escaped(&requirement.text, 300), &requirement.url);
    let mut out = format!("\n<details><summary>{summary}</summary>\n\n");
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
        out.push_str(&format!("\n{}", block("text", &evidence)));
    }
    if run.header.kind == RunKind::Validate {
        out.push_str(&format!("\nRepeat only this check:\n\n{}", block("sh", &findings::repeat_command(run, finding))));
    }
    out + "\n</details>\n"
}

/// The number of affected cases.
fn cases(finding: &Finding<'_>) -> String {
    match finding.affected.len() {
        1 => "1 case".to_owned(),
        count => format!("{count} cases"),
    }
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
