//! Repetition of cases whose result depends on time: on a busy machine a correct subject may be too slow once.

use std::{
    cmp::Reverse,
    time::{Duration, Instant},
};

use reports::model::Verdict;
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
/// and are reported as they are.
pub(super) async fn repeat_all<C: Repeatable>(
    mut doubtful: Vec<(C, JudgedCase)>,
    limit: impl Fn(Verdict) -> Duration,
    judge: &Judge,
    session: &mut Session<'_>,
    cancel: &CancellationToken,
) -> Result<(), RunError> {
    // Failures come first, as they decide about the run.
    doubtful.sort_by_key(|(_, judged)| Reverse(judged.result.verdict));
    let began = Instant::now();
    for (case, first) in doubtful {
        if cancel.is_cancelled() || began.elapsed() > limit(first.result.verdict) || session.has_confirmed(&first) {
            session.case_finished(first);
            continue;
        }
        let repeated = tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            repeated = repeat(&case, judge) => repeated?,
        };
        session.case_finished(repeated.unwrap_or(first));
    }
    Ok(())
}

/// Runs a doubtful case again. A second failure counts; a failure only in the third run is `flaky`. `None` if the run was
/// cancelled.
async fn repeat(case: &impl Repeatable, judge: &Judge) -> Result<Option<JudgedCase>, RunError> {
    let Some(evidence) = case.once_more().await? else { return Ok(None) };
    let second = judge.judge(case.recorded(evidence)).await?;
    if second.depends_on_time || second.result.verdict.is_failure() {
        return Ok(Some(second));
    }
    let Some(evidence) = case.once_more().await? else { return Ok(None) };
    let third = judge.judge(case.recorded(evidence.clone())).await?;
    if !third.depends_on_time {
        return Ok(Some(third));
    }
    let repetitions = Some(Repetitions { runs: 3, failed: 2 });
    Ok(Some(judge.judge(case.recorded(Evidence { repetitions, ..evidence })).await?))
}
