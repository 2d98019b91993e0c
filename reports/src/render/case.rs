//! One case in full: its judgements, the frames that show them, and the last words on standard error.
//!
//! The terminal shows it with colours, the JUnit file without; both bounded.

use std::collections::BTreeSet;

use serde_json::Value;
use textwrap::Options;

use crate::model::{CaseResult, Exhibit, Judgement, Level, Verdict};

use super::paint::Paint;
use super::text;

/// How a case is shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    pub(super) paint: Paint,
    pub(super) width: usize,
    /// Also the judgements that held, and the frames that no judgement names.
    pub(super) all: bool,
}

const JUDGEMENTS_SHOWN: usize = 20;
const FRAMES_SHOWN: usize = 8;
const BODY_LINES: usize = 16;
const BODY_LINES_ALL: usize = 60;
const STDERR_LINES: usize = 20;

/// The lines below the title of a case, without a trailing line feed.
pub(super) fn detail(case: &CaseResult, look: Look) -> String {
    let mut lines = Vec::new();
    let mut shown = BTreeSet::new();
    let told: Vec<_> = case.judgements.iter().filter(|judgement| look.all || told_always(judgement)).collect();
    for judgement in told.iter().take(JUDGEMENTS_SHOWN) {
        push_judgement(&mut lines, judgement, look);
        push_frames(&mut lines, case, &judgement.frames, &mut shown, look);
    }
    if told.len() > JUDGEMENTS_SHOWN {
        lines.push(format!("  … [cut: {} more judgements]", told.len() - JUDGEMENTS_SHOWN));
    }
    if look.all {
        let others: Vec<u64> =
            case.exhibits.iter().map(|exhibit| exhibit.seq).filter(|seq| !shown.contains(seq)).collect();
        if !others.is_empty() {
            lines.push("  other frames".to_owned());
            push_frames(&mut lines, case, &others, &mut shown, look);
        }
    }
    push_stderr(&mut lines, &case.stderr, look);
    lines.join("\n")
}

fn told_always(judgement: &Judgement) -> bool {
    !matches!(judgement.verdict, Verdict::Passed | Verdict::Skipped)
}

fn push_judgement(lines: &mut Vec<String>, judgement: &Judgement, look: Look) {
    let word = look.paint.verdict(judgement.verdict, judgement.verdict.word());
    lines.push(format!("  {word} {}", look.paint.strong(text::bounded_line(&judgement.id, 200))));
    let reason = matches!(judgement.verdict, Verdict::Skipped | Verdict::Blocked);
    push_field(lines, "expected", &text::line(&judgement.expected), look);
    push_field(lines, if reason { "reason" } else { "observed" }, &text::line(&judgement.observed), look);
    let requirement = &judgement.requirement;
    push_field(lines, level(requirement.level), &text::line(&requirement.text), look);
    // The address stays in one piece, whatever the width, so that it can be followed.
    let id = text::bounded_line(&requirement.id, 200);
    lines.push(format!(
        "             {} {}",
        text::bounded_line(&requirement.url, 500),
        look.paint.faint(format!("({id})"))
    ));
}

fn push_field(lines: &mut Vec<String>, name: &str, text: &str, look: Look) {
    let first = format!("    {name:<9}");
    let options = Options::new(look.width.max(40)).initial_indent(&first).subsequent_indent("             ");
    lines.extend(textwrap::wrap(text, options).into_iter().map(|line| line.trim_end().to_owned()));
}

/// The word of a level, as specifications write it.
pub(super) fn level(level: Level) -> &'static str {
    match level {
        Level::Must => "MUST",
        Level::Should => "SHOULD",
        Level::Expected => "EXPECTED",
    }
}

fn push_frames(lines: &mut Vec<String>, case: &CaseResult, seqs: &[u64], shown: &mut BTreeSet<u64>, look: Look) {
    for seq in seqs.iter().take(FRAMES_SHOWN) {
        match case.exhibits.iter().find(|exhibit| exhibit.seq == *seq) {
            None => lines.push(format!("    #{seq} (this frame was not kept)")),
            Some(exhibit) if shown.insert(*seq) => push_exhibit(lines, exhibit, look),
            Some(exhibit) => lines.push(format!("    {} #{seq} (shown above)", arrow(exhibit))),
        }
    }
    if seqs.len() > FRAMES_SHOWN {
        lines.push(format!("    … [cut: {} more frames]", seqs.len() - FRAMES_SHOWN));
    }
}

/// Seen from the client: `->` is what it sent.
fn arrow(exhibit: &Exhibit) -> &'static str {
    if exhibit.from_client { "->" } else { "<-" }
}

fn push_exhibit(lines: &mut Vec<String>, exhibit: &Exhibit, look: Look) {
    let at = format!("{}.{:03} ms", exhibit.at_us / 1_000, exhibit.at_us % 1_000);
    let http = exhibit.http.as_deref().map(|http| format!("  {}", text::bounded_line(http, 200))).unwrap_or_default();
    let server = text::bounded_line(&exhibit.server, 80);
    let head = format!("{} #{}  {at}  {server}{http}", arrow(exhibit), exhibit.seq);
    lines.push(format!("    {}", look.paint.strong(head)));
    let body = match &exhibit.body {
        Value::String(raw) => raw.clone(),
        // What the specification sends without a body is shown by its envelope alone.
        Value::Null => String::new(),
        other => format!("{other:#}"),
    };
    let limit = if look.all { BODY_LINES_ALL } else { BODY_LINES };
    let room = look.width.max(40) - 8;
    lines.extend(text::lines(&body, limit, room).into_iter().map(|line| format!("       {line}")));
    if exhibit.cut {
        lines.push("       … [cut: the body was too long to keep whole]".to_owned());
    }
}

fn push_stderr(lines: &mut Vec<String>, stderr: &str, look: Look) {
    if stderr.trim().is_empty() {
        return;
    }
    lines.push("  standard error, its last lines".to_owned());
    let total = stderr.lines().count();
    let skip = total.saturating_sub(STDERR_LINES);
    if skip > 0 {
        lines.push(format!("    … [cut: {skip} earlier lines]"));
    }
    // The end is what tells why a process died, so the beginning is what is left out.
    let last: Vec<&str> = stderr.lines().skip(skip).collect();
    let shown = text::lines(&last.join("\n"), STDERR_LINES, look.width.max(40) - 6);
    lines.extend(shown.into_iter().map(|line| look.paint.faint(format!("    | {line}"))));
}
