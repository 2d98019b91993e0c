//! Validates a server: probes it, then runs all scenarios that apply, in each of its revisions.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use futures::{FutureExt, StreamExt, future::BoxFuture, stream};
use reports::model::RunKind;
use tokio_util::sync::CancellationToken;

use super::{
    EventSink, FinishedRun, RunDirectory, RunError, fresh_seed,
    server_case::{applies, run_server_case},
    session::{Judge, RecordedCase, Session, Start},
};
use crate::{
    evidence::Evidence,
    model::{Revision, Scenario, Subject},
    peer::{ProbeResult, ServerTarget, probe},
    plan::case_id,
};

/// Scenarios against a server.
#[derive(Debug)]
pub struct ValidatePlan {
    /// The server.
    pub target: ServerTarget,
    /// Name of the server in reports, without secrets.
    pub subject: String,
    /// The scenarios; those for clients are ignored.
    pub scenarios: Vec<Arc<Scenario>>,
    /// Timeout of the first response.
    pub startup: Duration,
    /// Maximum number of concurrent cases.
    pub jobs: NonZeroUsize,
}

struct ServerCase {
    id: String,
    scenario: Arc<Scenario>,
    revision: Revision,
}

pub(super) async fn execute(
    plan: ValidatePlan,
    directory: &RunDirectory,
    events: EventSink<'_>,
    cancel: &CancellationToken,
) -> Result<FinishedRun, RunError> {
    let facts = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(RunError::Cancelled),
        facts = probe(&plan.target, plan.startup) => facts?,
    };
    let cases = cases(&plan.scenarios, &facts);
    let start = Start {
        kind: RunKind::Validate,
        subject: plan.subject.clone(),
        seed: fresh_seed(),
        planned: cases.len(),
        jobs: plan.jobs.get(),
        probe: Some(&facts),
    };
    let mut session = Session::start(&start, directory, events);
    let (judge, target, known, startup) = (Judge::new().map_err(RunError::Thread)?, &plan.target, &facts, plan.startup);
    // Boxed one by one: a closure that returns them would keep the future of the caller from being `Send`.
    let mut running: Vec<BoxFuture<'_, RecordedCase>> = Vec::with_capacity(cases.len());
    for (index, case) in cases.into_iter().enumerate() {
        running.push(record(index, case, target, known, startup).boxed());
    }
    let mut running = stream::iter(running).buffer_unordered(plan.jobs.get());
    loop {
        let recorded = tokio::select! {
            biased;
            () = cancel.cancelled() => break,
            recorded = running.next() => recorded,
        };
        let Some(recorded) = recorded else { break };
        session.case_finished(judge.judge(recorded).await?);
    }
    drop(running);
    Ok(session.finish(!cancel.is_cancelled(), None).await)
}

/// All cases, sorted by id.
fn cases(scenarios: &[Arc<Scenario>], facts: &ProbeResult) -> Vec<ServerCase> {
    let scenarios = scenarios.iter().filter(|scenario| scenario.subject == Subject::Server);
    let mut cases: Vec<ServerCase> = scenarios
        .flat_map(|scenario| {
            facts.revisions().map(move |revision| {
                let id = case_id(&scenario.scenario, facts.transport, revision);
                ServerCase { id, scenario: Arc::clone(scenario), revision }
            })
        })
        .collect();
    cases.sort_by(|one, other| one.id.cmp(&other.id));
    cases
}

async fn record(
    index: usize,
    case: ServerCase,
    target: &ServerTarget,
    facts: &ProbeResult,
    startup: Duration,
) -> RecordedCase {
    let ServerCase { id, scenario, revision } = case;
    let evidence = match applies(&scenario, facts, revision) {
        Ok(()) => run_server_case(target, &scenario, facts, revision, startup).await,
        Err(reason) => Evidence::skipped(&scenario, facts.transport, revision, reason),
    };
    RecordedCase { index, id, scenario, evidence: Box::new(move || evidence) }
}
