//! A comparison for a terminal or a log: the most severe changes last, closest to the prompt.

use super::{Change, ChangeKind, Comparison, changes, limit, notes, transition};
use crate::{
    model::Verdict,
    render::{Style, Verbosity, paint::Paint, text},
};

/// Renders a comparison; the text ends with a line feed.
#[must_use]
pub fn terminal(comparison: &Comparison, style: &Style) -> String {
    let paint = Paint { color: style.color };
    let mut out = String::new();
    for kind in ChangeKind::ALL.into_iter().rev() {
        push_kind(&mut out, comparison, kind, style, paint);
    }
    for note in notes(comparison) {
        out.push_str(&format!("note: {note}\n"));
    }
    let subjects = [&comparison.old, &comparison.new].map(|run| text::bounded_line(&run.subject, 200));
    let ids = [&comparison.old, &comparison.new].map(|run| text::bounded_line(&run.run_id, 100));
    out.push_str(&format!("old: {} ({})\nnew: {} ({})\n", subjects[0], ids[0], subjects[1], ids[1]));
    let counts: Vec<String> = ChangeKind::ALL
        .into_iter()
        .filter(|kind| comparison.counts.count(*kind) > 0)
        .map(|kind| paint.verdict(color(kind), format!("{} {}", comparison.counts.count(kind), kind.as_str())))
        .chain([format!("{} checks unchanged", comparison.unchanged)])
        .collect();
    out.push_str(&format!("{}\n", counts.join(", ")));
    out
}

fn push_kind(out: &mut String, comparison: &Comparison, kind: ChangeKind, style: &Style, paint: Paint) {
    let changes = changes(comparison, kind);
    let limit = if style.verbosity == Verbosity::Verbose { usize::MAX } else { limit(kind) };
    for change in changes.iter().take(limit) {
        push_change(out, change, style, paint);
    }
    if changes.len() > limit {
        out.push_str(&format!("{:<7} {} more\n", kind.as_str(), changes.len() - limit));
    }
}

fn push_change(out: &mut String, change: &Change, style: &Style, paint: Paint) {
    let word = paint.verdict(color(change.kind), format!("{:<7}", change.kind.as_str()));
    let check = change.check.as_deref().map(|check| format!(" {}", text::bounded_line(check, 200))).unwrap_or_default();
    let case = text::bounded_line(&change.case, 300);
    out.push_str(&format!("{word} {}{} {}\n", case, paint.strong(check), paint.faint(transition(change))));
    let has_detail = matches!(change.kind, ChangeKind::Broken | ChangeKind::Flaky | ChangeKind::Warned);
    if !has_detail || style.verbosity == Verbosity::Quiet {
        return;
    }
    out.push_str(&format!("  observed {}\n", text::bounded_line(&change.observed, 500)));
    if let Some(requirement) = &change.requirement {
        let rule = text::bounded_line(&requirement.text, 300);
        out.push_str(&format!("  {:<8} {rule}\n", requirement.level.as_str()));
        let (url, id) = (text::bounded_line(&requirement.url, 500), text::bounded_line(&requirement.id, 200));
        out.push_str(&format!("           {url} {}\n", paint.faint(format!("({id})"))));
    }
}

/// The verdict with the color of a kind.
fn color(kind: ChangeKind) -> Verdict {
    match kind {
        ChangeKind::Broken => Verdict::Failed,
        ChangeKind::Flaky => Verdict::Flaky,
        ChangeKind::Warned | ChangeKind::Slower => Verdict::Warned,
        ChangeKind::Fixed => Verdict::Passed,
        ChangeKind::Removed | ChangeKind::New => Verdict::Skipped,
    }
}
