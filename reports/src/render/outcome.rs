//! Why a run held or not, in sentences: what the terminal, the Markdown summary and the JUnit file say alike.
//!
//! The decision itself is [`Run::held`]; a test keeps the two in step.

use crate::model::{CaseResult, Run, Verdict};

use super::text;

/// Whether the baseline lists the case as a known failure.
pub(super) fn is_known(run: &Run, case: &CaseResult) -> bool {
    case.verdict.is_failure() && run.baseline.as_ref().is_some_and(|baseline| baseline.known.contains(&case.id))
}

/// What a run did to fail apart from its cases and loads: each a short name and a sentence with what to do.
pub(super) fn run_faults(run: &Run) -> Vec<(&'static str, String)> {
    let mut faults = Vec::new();
    if !run.complete {
        let ended = run.cases.len() + run.loads.len();
        faults.push((
            "incomplete",
            format!("the run was interrupted: {ended} of {} planned ended; what is missing did not pass", planned(run)),
        ));
    }
    if run.cases.iter().all(|case| case.verdict == Verdict::Skipped) && run.loads.is_empty() {
        faults.push(("nothing-judged", "nothing was judged: no case ran; check the filters".to_owned()));
    }
    let stale = run.baseline.iter().flat_map(|baseline| &baseline.stale);
    faults.extend(stale.map(|id| {
        (
            "stale-baseline",
            format!("{} passed or no longer exists: take it off the baseline of known failures", text::line(id)),
        )
    }));
    faults
}

/// How many were planned; never fewer than ended, whatever the header says.
fn planned(run: &Run) -> usize {
    run.header.planned.max(run.cases.len() + run.loads.len())
}

/// The counts in words, without those that are zero.
pub(super) fn counts(run: &Run) -> Vec<(Verdict, usize)> {
    let counts = run.counts();
    [
        (Verdict::Failed, counts.failed),
        (Verdict::Blocked, counts.blocked),
        (Verdict::Warned, counts.warned),
        (Verdict::Passed, counts.passed),
        (Verdict::Skipped, counts.skipped),
    ]
    .into_iter()
    .filter(|(_, count)| *count > 0)
    .collect()
}

/// How many failed cases the baseline lists.
pub(super) fn known_failures(run: &Run) -> usize {
    run.cases.iter().filter(|case| is_known(run, case)).count()
}

/// A duration, short.
pub(super) fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{:.1} s", ms as f64 / 1_000.0),
        _ => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1_000),
    }
}

/// A latency, short.
pub(super) fn latency(us: f64) -> String {
    match us {
        us if us < 1_000.0 => format!("{us:.0} µs"),
        us if us < 1_000_000.0 => format!("{:.2} ms", us / 1_000.0),
        us => format!("{:.2} s", us / 1_000_000.0),
    }
}
