//! Details of one case: checks, frames and the end of standard error. Used by the terminal and JUnit reports.

use std::collections::BTreeSet;

use serde_json::Value;
use textwrap::Options;

use crate::model::{CaseResult, CheckResult, ReportFrame, Verdict};

use super::paint::Paint;
use super::text;

/// Colors, width and amount of detail of a case.
#[derive(Debug, Clone, Copy)]
pub(super) struct CaseStyle {
    pub(super) paint: Paint,
    pub(super) width: usize,
    /// Whether to include passed and skipped checks, and frames that no check cites.
    pub(super) all: bool,
}

const MAX_CHECKS: usize = 20;
const MAX_FRAMES: usize = 8;
const MAX_BODY_LINES: usize = 16;
const MAX_BODY_LINES_VERBOSE: usize = 60;
const MAX_STDERR_LINES: usize = 20;

/// Renders the lines below the title of a case, without a trailing line feed.
pub(super) fn detail(case: &CaseResult, style: CaseStyle) -> String {
    let mut lines = Vec::new();
    let mut shown = BTreeSet::new();
    let checks: Vec<_> = case.checks.iter().filter(|check| style.all || is_reported(check)).collect();
    for check in checks.iter().take(MAX_CHECKS) {
        push_check(&mut lines, check, style);
        push_frames(&mut lines, case, &check.frames, &mut shown, style);
    }
    if checks.len() > MAX_CHECKS {
        lines.push(format!("  … [{} more checks]", checks.len() - MAX_CHECKS));
    }
    if style.all {
        let others: Vec<u64> = case.frames.iter().map(|frame| frame.seq).filter(|seq| !shown.contains(seq)).collect();
        if !others.is_empty() {
            lines.push("  other frames".to_owned());
            push_frames(&mut lines, case, &others, &mut shown, style);
        }
    }
    push_stderr(&mut lines, &case.stderr, style);
    lines.join("\n")
}

/// Renders one check with its frames, without a trailing line feed.
pub(super) fn check_detail(case: &CaseResult, check: &CheckResult, style: CaseStyle) -> String {
    let mut lines = Vec::new();
    push_check(&mut lines, check, style);
    push_evidence(&mut lines, case, check, style);
    lines.join("\n")
}

/// Renders the frames of a check, or the end of standard error, without a trailing line feed.
pub(super) fn evidence(case: &CaseResult, check: &CheckResult, style: CaseStyle) -> String {
    let mut lines = Vec::new();
    push_evidence(&mut lines, case, check, style);
    lines.join("\n")
}

fn push_evidence(lines: &mut Vec<String>, case: &CaseResult, check: &CheckResult, style: CaseStyle) {
    push_frames(lines, case, &check.frames, &mut BTreeSet::new(), style);
    // Without frames, the process may show the cause.
    if check.frames.is_empty() {
        push_stderr(lines, &case.stderr, style);
    }
}

fn is_reported(check: &CheckResult) -> bool {
    !matches!(check.verdict, Verdict::Passed | Verdict::Skipped)
}

fn push_check(lines: &mut Vec<String>, check: &CheckResult, style: CaseStyle) {
    let word = style.paint.verdict(check.verdict, check.verdict.as_str());
    lines.push(format!("  {word} {}", style.paint.strong(text::bounded_line(&check.id, 200))));
    let reason = matches!(check.verdict, Verdict::Skipped | Verdict::Blocked);
    push_field(lines, "expected", &text::line(&check.expected), style);
    push_field(lines, if reason { "reason" } else { "observed" }, &text::line(&check.observed), style);
    let requirement = &check.requirement;
    push_field(lines, requirement.level.as_str(), &text::line(&requirement.text), style);
    // URLs are not wrapped, so that they can be opened.
    let id = text::bounded_line(&requirement.id, 200);
    lines.push(format!(
        "             {} {}",
        text::bounded_line(&requirement.url, 500),
        style.paint.faint(format!("({id})"))
    ));
    if let (Some(advice), true) = (&requirement.advice, is_reported(check)) {
        push_field(lines, "advice", &text::line(advice), style);
    }
}

fn push_field(lines: &mut Vec<String>, name: &str, text: &str, style: CaseStyle) {
    let first = format!("    {name:<9}");
    let options = Options::new(style.width.max(40)).initial_indent(&first).subsequent_indent("             ");
    lines.extend(textwrap::wrap(text, options).into_iter().map(|line| line.trim_end().to_owned()));
}

fn push_frames(lines: &mut Vec<String>, case: &CaseResult, seqs: &[u64], shown: &mut BTreeSet<u64>, style: CaseStyle) {
    for seq in seqs.iter().take(MAX_FRAMES) {
        match case.frames.iter().find(|frame| frame.seq == *seq) {
            None => lines.push(format!("    #{seq} (not recorded)")),
            Some(frame) if shown.insert(*seq) => push_frame(lines, frame, style),
            Some(frame) => lines.push(format!("    {} #{seq} (shown above)", arrow(frame))),
        }
    }
    if seqs.len() > MAX_FRAMES {
        lines.push(format!("    … [{} more frames]", seqs.len() - MAX_FRAMES));
    }
}

/// Direction of a frame as the client sees it: `->` is sent.
fn arrow(frame: &ReportFrame) -> &'static str {
    if frame.from_client { "->" } else { "<-" }
}

fn push_frame(lines: &mut Vec<String>, frame: &ReportFrame, style: CaseStyle) {
    let at = format!("{}.{:03} ms", frame.at_us / 1_000, frame.at_us % 1_000);
    let http = frame.http.as_deref().map(|http| format!("  {}", text::bounded_line(http, 200))).unwrap_or_default();
    let server = text::bounded_line(&frame.server, 80);
    let head = format!("{} #{}  {at}  {server}{http}", arrow(frame), frame.seq);
    lines.push(format!("    {}", style.paint.strong(head)));
    for (name, value) in &frame.headers {
        lines.push(format!("       {}", style.paint.faint(text::bounded_line(&format!("{name}: {value}"), 200))));
    }
    let body = match frame.body.value() {
        Value::String(raw) => raw,
        // A frame without a body is an HTTP envelope.
        Value::Null => String::new(),
        other => format!("{other:#}"),
    };
    let limit = if style.all { MAX_BODY_LINES_VERBOSE } else { MAX_BODY_LINES };
    let room = style.width.max(40) - 8;
    lines.extend(text::lines(&body, limit, room).into_iter().map(|line| format!("       {line}")));
    if frame.truncated {
        lines.push("       … [truncated when it was recorded]".to_owned());
    }
}

fn push_stderr(lines: &mut Vec<String>, stderr: &str, style: CaseStyle) {
    if stderr.trim().is_empty() {
        return;
    }
    lines.push("  end of standard error".to_owned());
    let total = stderr.lines().count();
    let skip = total.saturating_sub(MAX_STDERR_LINES);
    if skip > 0 {
        lines.push(format!("    … [{skip} earlier lines]"));
    }
    // The end shows why a process exited, so earlier lines are omitted.
    let last: Vec<&str> = stderr.lines().skip(skip).collect();
    let shown = text::lines(&last.join("\n"), MAX_STDERR_LINES, style.width.max(40) - 6);
    lines.extend(shown.into_iter().map(|line| style.paint.faint(format!("    | {line}"))));
}
