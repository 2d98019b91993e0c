//! Repetition of cases whose result depends on time: on a busy machine a correct subject may be too slow once.

use std::{
    cmp::Reverse,
    collections::BTreeSet,
    time::{Duration, Instant},
};

use reports::model::{CaseResult, Verdict};
use tokio_util::sync::CancellationToken;

use super::{
    RunError,
    session::{Judge, JudgedCase, RecordedCase, Session},
};
use crate::evidence::{Evidence, Repetitions};

/// A case that can be run again.
pub(super) trait Repeatable {
    /// Runs the case while no other runs. `None` if the run was cancelled.
    fn once_more(&self) -> impl Future<Output = Result<Option<Evidence>, RunError>> + Send;

    /// The case with this evidence, to judge it.
    fn recorded(&self, evidence: Evidence) -> RecordedCase;
}

/// Runs doubtful cases again, one after another. `limit` is the time after which cases with a verdict are no longer repeated,
/// and are reported as they are; a third of it if all repetitions find something again, so that time was not the reason.
pub(super) async fn repeat_all<C: Repeatable>(
    mut doubtful: Vec<(C, JudgedCase)>,
    limit: impl Fn(Verdict) -> Duration,
    judge: &Judge,
    session: &mut Session<'_>,
    cancel: &CancellationToken,
) -> Result<(), RunError> {
    // Failures come first, as they decide about the run. Short cases confirm what long ones found too.
    doubtful.sort_by_key(|(_, judged)| (Reverse(judged.result.verdict), judged.result.elapsed_ms));
    let began = Instant::now();
    let mut differs = false;
    for (case, first) in doubtful {
        let limit = limit(first.result.verdict);
        let is_late = began.elapsed() > if differs { limit } else { limit / 3 };
        if cancel.is_cancelled() || is_late || session.has_confirmed(&first) {
            session.case_finished(first);
            continue;
        }
        let repeated = tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            repeated = repeat(&case, &first, judge) => repeated?,
        };
        differs |= repeated
            .as_ref()
            .is_some_and(|repeated| repeated.result.verdict < first.result.verdict.min(Verdict::Blocked));
        session.case_finished(repeated.unwrap_or(first));
    }
    Ok(())
}

/// Runs a doubtful case again. What two runs have found counts; what only the third run has found is `flaky`. `None` if the run
/// was cancelled.
async fn repeat(case: &impl Repeatable, first: &JudgedCase, judge: &Judge) -> Result<Option<JudgedCase>, RunError> {
    let Some(evidence) = case.once_more().await? else { return Ok(None) };
    let second = judge.judge(case.recorded(evidence)).await?;
    if is_found_again(&second.result, &first.result) {
        return Ok(Some(second));
    }
    let Some(evidence) = case.once_more().await? else { return Ok(None) };
    let third = judge.judge(case.recorded(evidence.clone())).await?;
    if !third.depends_on_time || is_found_again(&third.result, &second.result) {
        return Ok(Some(third));
    }
    let confirmed = found(&second.result).into_iter().map(|(check, _)| check).collect();
    let repetitions = Some(Repetitions { runs: 3, failed: 2, confirmed });
    Ok(Some(judge.judge(case.recorded(Evidence { repetitions, ..evidence })).await?))
}

/// The checks that found something, with their verdicts.
fn found(result: &CaseResult) -> BTreeSet<(String, Verdict)> {
    let checks = result.checks.iter().filter(|check| check.verdict > Verdict::Passed);
    checks.map(|check| (check.id.clone(), check.verdict)).collect()
}

/// Whether a repetition found something, and nothing that the run before it had not found.
fn is_found_again(repetition: &CaseResult, before: &CaseResult) -> bool {
    let again = found(repetition);
    !again.is_empty() && again.is_subset(&found(before))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_repetition_confirms_what_was_found_before() {
        let result = |found: &[(&str, &str)]| -> CaseResult {
            let check = |(id, verdict): &(&str, &str)| {
                json!({ "id": id, "verdict": verdict, "expected": "a", "observed": "a",
                    "requirement": { "id": "a", "level": "MUST", "text": "a", "url": "a" } })
            };
            let checks: Vec<_> = found.iter().map(check).collect();
            let case = json!({ "id": "a", "scenario": "a", "transport": "stdio", "revision": "2025-11-25", "title": "a",
                "verdict": "failed", "checks": checks, "frames": [], "elapsed_ms": 0 });
            serde_json::from_value(case).expect("a result")
        };
        let before = result(&[("late", "failed"), ("always", "failed"), ("fine", "passed")]);
        assert!(is_found_again(&before, &before));
        assert!(is_found_again(&result(&[("late", "failed"), ("fine", "passed")]), &before));
        assert!(!is_found_again(&result(&[("always", "failed"), ("lost", "failed")]), &before), "`lost` is new");
        assert!(!is_found_again(&result(&[("fine", "warned")]), &before), "it passed before");
        assert!(!is_found_again(&result(&[("late", "passed")]), &before), "nothing was found");
    }
}
