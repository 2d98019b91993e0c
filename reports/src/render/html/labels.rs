//! Short names and signs.

use crate::model::{RunKind, Verdict};

/// The command, in lower case.
pub(super) fn kind(kind: RunKind) -> &'static str {
    match kind {
        RunKind::Conformance => "conformance",
        RunKind::Validate => "validate",
        RunKind::Bench => "bench",
    }
}

/// A sign that shows a verdict without color.
pub(super) fn sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Skipped => "–",
        Verdict::Passed => "✓",
        Verdict::Noted => "i",
        Verdict::Warned => "!",
        Verdict::Flaky => "~",
        Verdict::Blocked => "⊘",
        Verdict::Failed => "✗",
    }
}
