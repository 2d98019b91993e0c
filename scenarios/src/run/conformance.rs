//! Runs the cases of a plan side by side, and writes each into the journal as soon as it has ended.

use std::{io, io::Write, sync::Arc};

use reports::{journal::Line, model::CaseResult};
use tokio::{sync::Semaphore, task::JoinSet};

use super::{
    client_case,
    options::{RunEvent, RunOptions},
};
use crate::{evidence::Evidence, judge, plan::Plan};

/// Why a run had to stop.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A case could not be written into the journal.
    #[error("the journal could not be written")]
    Journal(#[source] io::Error),
    /// A case ended in a panic of the workbench.
    #[error("case {id} ended in a fault of the workbench itself")]
    Fault {
        /// The case.
        id: String,
        /// The panic.
        #[source]
        source: tokio::task::JoinError,
    },
}

/// Runs every case of the plan, at most `options.jobs` of them at one time. A case stands in the journal before `tell`
/// hears of its end. The results are in the order of the plan.
///
/// Dropping the future ends the cases that are under way, and every process of theirs.
///
/// # Errors
/// If the journal cannot be written, or a case shows a fault of the workbench. What a subject does is no error.
pub async fn conformance(
    plan: &Plan,
    options: &RunOptions,
    journal: &mut (dyn Write + Send),
    mut tell: impl FnMut(RunEvent<'_>),
) -> Result<Vec<CaseResult>, RunError> {
    let room = Arc::new(Semaphore::new(options.jobs.get()));
    let options = Arc::new(options.clone());
    let mut waiting: Vec<_> = plan.cases.iter().collect();
    // Taken from the end: the case that waits longest comes first.
    waiting.sort_by_cached_key(|case| (case.longest_wait(), std::cmp::Reverse(case.index)));
    let mut running = JoinSet::new();
    let mut results: Vec<Option<CaseResult>> = vec![None; plan.cases.len()];
    loop {
        // One case waits for room while the others run, so that ten thousand cases do not become ten thousand tasks.
        while running.len() <= options.jobs.get() {
            let Some(case) = waiting.pop().cloned() else { break };
            tell(RunEvent::Began { id: &case.id });
            let (room, options) = (Arc::clone(&room), Arc::clone(&options));
            running.spawn(async move {
                // The semaphore is never closed.
                let _place = room.acquire().await;
                let evidence = client_case::run(&case, &options).await;
                let result = judge::judge(&case.id, &case.scenario, &evidence);
                (case.index, result, evidence)
            });
        }
        let Some(ended) = running.join_next().await else { break };
        let (index, result, evidence) =
            ended.map_err(|source| RunError::Fault { id: "(unknown)".to_owned(), source })?;
        write_case(journal, index, &result, &evidence).map_err(RunError::Journal)?;
        tell(RunEvent::Ended { result: &result });
        if let Some(place) = results.get_mut(index) {
            *place = Some(result);
        }
    }
    Ok(results.into_iter().flatten().collect())
}

/// Writes one case into the journal.
///
/// # Errors
/// Those of the writer.
pub fn write_case(journal: &mut dyn Write, index: usize, result: &CaseResult, evidence: &Evidence) -> io::Result<()> {
    let evidence = serde_json::to_value(evidence)?;
    let line = Line::Case { result: Box::new(result.clone()), index, evidence };
    let mut bytes = serde_json::to_vec(&line)?;
    bytes.push(b'\n');
    journal.write_all(&bytes)?;
    journal.flush()
}
