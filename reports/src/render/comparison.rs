//! Comparisons of runs as text for a terminal, and as Markdown for a comment on a pull request.
//!
//! Names and observations come from journals, which quote clients and servers: they are escaped like those of runs.

use super::{outcome, text};
use crate::comparison::{Change, ChangeKind, Comparison, Measured};

mod markdown;
mod terminal;
#[cfg(test)]
mod tests;

pub use markdown::markdown;
pub use terminal::terminal;

/// Maximum number of changes of one kind that are listed.
const MAX_CHANGES: usize = 50;
/// Maximum number of removed or new checks that are listed. A case that is blocked now has none of its checks any more.
const MAX_REPLACED: usize = 10;

/// Maximum number of listed changes of this kind.
fn limit(kind: ChangeKind) -> usize {
    match kind {
        ChangeKind::Broken | ChangeKind::Flaky | ChangeKind::Warned | ChangeKind::Slower | ChangeKind::Fixed => {
            MAX_CHANGES
        }
        ChangeKind::Removed | ChangeKind::New => MAX_REPLACED,
    }
}

/// The changes of one kind.
fn changes(comparison: &Comparison, kind: ChangeKind) -> Vec<&Change> {
    comparison.changes.iter().filter(|change| change.kind == kind).collect()
}

/// The old and the new value, or the old and the new verdict.
fn transition(change: &Change) -> String {
    if let Some(measured) = &change.measured {
        return measurement(measured);
    }
    let word = |verdict: Option<crate::Verdict>| verdict.map_or("missing", crate::Verdict::as_str);
    format!("{} -> {}", word(change.old), word(change.new))
}

fn measurement(measured: &Measured) -> String {
    let Measured { what, unit, old, new } = measured;
    let shown = |value: f64| match unit.as_str() {
        "ms" => format!("{value:.0} ms"),
        "us" => outcome::latency(value),
        unit => format!("{value:.1} {}", text::bounded_line(unit, 20)),
    };
    let percent = if *old > 0.0 { format!(" ({:+.0} %)", (new / old - 1.0) * 100.0) } else { String::new() };
    format!("{} {} -> {}{percent}", text::bounded_line(what, 50), shown(*old), shown(*new))
}

/// Notes that a reader needs to interpret the changes.
fn notes(comparison: &Comparison) -> Vec<String> {
    let (old, new) = (&comparison.old, &comparison.new);
    let mut notes = Vec::new();
    for (name, run) in [("old", old), ("new", new)] {
        if !run.complete {
            notes.push(format!("the {name} run was interrupted: cases that did not finish are missing in it"));
        }
    }
    if old.workbench != new.workbench {
        let versions = [&old.workbench, &new.workbench].map(|version| text::bounded_line(version, 50));
        notes.push(format!("the runs are of different versions of the workbench: {} and {}", versions[0], versions[1]));
    }
    if old.kind != new.kind {
        notes.push("the runs are of different kinds".to_owned());
    }
    notes
}
