//! A validation: the areas first, then the findings, the most severe first.

use super::MAX_DETAILED;
use crate::{
    model::{Run, Verdict},
    render::{
        Style, Verbosity,
        case::{self, CaseStyle},
        findings::{self, Finding},
        paint::Paint,
        text,
    },
};

/// Maximum number of affected cases that are listed.
const MAX_AFFECTED: usize = 4;
/// Maximum length of a list of tools, in characters.
const MAX_TOOLS: usize = 400;

pub(super) fn push(out: &mut String, run: &Run, style: &Style, paint: Paint) {
    push_areas(out, run, style, paint);
    let all = style.verbosity == Verbosity::Verbose;
    let case_style = CaseStyle { paint, width: style.width, all: false };
    let found = findings::findings(run);
    for (position, finding) in found.iter().enumerate() {
        if position >= MAX_DETAILED || (finding.is_known && !all) {
            let word = paint.verdict(finding.verdict, finding.verdict.as_str());
            let note = if finding.is_known { " (known failure)" } else { "" };
            super::push(out, &format!("{word} {}{note}", text::bounded_line(&finding.check.id, 200)));
            continue;
        }
        super::push(out, &case::check_detail(finding.case, finding.check, case_style));
        super::push(out, &format!("    affects  {}", affected(finding)));
        super::push(out, &format!("    repeat   {}\n", findings::repeat_command(run, finding)));
    }
    push_tool_calls(out, run, paint);
    push_portability(out, run, style, paint);
}

/// The tools that were called and how often, and the others with the reason.
fn push_tool_calls(out: &mut String, run: &Run, paint: Paint) {
    if run.tool_calls.is_empty() {
        return;
    }
    let (called, not_called) = findings::tool_calls(run);
    let called = if called.is_empty() { "none".to_owned() } else { called.join(", ") };
    super::push(
        out,
        &format!("{} {}", paint.faint("called tools:".to_owned()), text::bounded_line(&called, MAX_TOOLS)),
    );
    for (reason, tools) in not_called {
        let line = format!("{}: {reason}", text::bounded_line(&tools.join(", "), MAX_TOOLS));
        super::push(out, &format!("{} {}", paint.faint("not called:  ".to_owned()), text::line(&line)));
    }
    out.push('\n');
}

/// For each provider the number of tools whose schemas it accepts as they are, and the first difference; all with `-v`.
fn push_portability(out: &mut String, run: &Run, style: &Style, paint: Paint) {
    if run.portability.is_empty() {
        return;
    }
    let name = run.portability.iter().map(|one| one.provider.chars().count()).max().unwrap_or(0).max("provider".len());
    super::push(out, &paint.faint(format!("{:<name$}  same  other  rejected", "provider")));
    for one in &run.portability {
        let rejected = one.different.iter().filter(|tool| tool.rejected).count();
        let other = one.different.len() - rejected;
        let line = format!("{:<name$}  {:>4}  {other:>5}  {rejected:>8}", one.provider, one.equal);
        let first = one.different.first().map(|tool| format!("  {}", findings::difference(tool))).unwrap_or_default();
        let room = style.width.saturating_sub(name + 2 + 4 + 2 + 5 + 2 + 8);
        super::push(out, &format!("{line}{}", paint.faint(text::fitted(&text::line(&first), room))));
        if style.verbosity == Verbosity::Verbose {
            for tool in &one.different {
                super::push(out, &format!("  {}", text::bounded_line(&findings::difference(tool), 500)));
            }
        }
    }
    out.push('\n');
}

fn affected(finding: &Finding<'_>) -> String {
    let listed: Vec<String> =
        finding.affected.iter().take(MAX_AFFECTED).map(|id| text::bounded_line(id, 200)).collect();
    match finding.affected.len().saturating_sub(MAX_AFFECTED) {
        0 => listed.join(", "),
        more => format!("{} and {more} more", listed.join(", ")),
    }
}

fn push_areas(out: &mut String, run: &Run, style: &Style, paint: Paint) {
    let areas = findings::areas(run);
    let name = areas.keys().map(|area| area.chars().count()).max().unwrap_or(0).max("area".len());
    super::push(out, &paint.faint(format!("{:<name$}  passed  failed  warned  skipped", "area")));
    for (area, counts) in areas {
        let count = |verdict: Verdict, count: usize| {
            let text = format!("{count:>6}");
            if count == 0 { paint.faint(text) } else { paint.verdict(verdict, text) }
        };
        let reason = counts.reason.map(|reason| format!("  {}", text::line(reason))).unwrap_or_default();
        let line = format!(
            "{area:<name$}  {}  {}  {}  {:>7}",
            count(Verdict::Passed, counts.passed),
            count(Verdict::Failed, counts.failed),
            count(Verdict::Warned, counts.warned),
            counts.skipped,
        );
        // The columns without colors.
        let used = name + 2 + 6 + 2 + 6 + 2 + 6 + 2 + 7;
        let room = style.width.saturating_sub(used);
        super::push(out, &format!("{line}{}", paint.faint(text::fitted(&reason, room))));
    }
    out.push('\n');
}
