//! Runs scenarios against a client, several cases at a time.

use std::{cmp::Reverse, num::NonZeroUsize, path::PathBuf, sync::Arc};

use reports::model::{PassPolicy, Profile, RunKind};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{
    Baseline, ClientUnderTest, EventSink, FinishedRun, RunDirectory, RunError, client_case,
    session::{Judge, JudgedCase, RecordedCase, Session, Start},
};
use crate::plan::{Case, Plan};

/// Scenarios against a client.
#[derive(Debug)]
pub struct ConformancePlan {
    /// Executable of mcp-workbench: starts stdio mock servers and the built-in client.
    pub program: PathBuf,
    /// The client under test.
    pub client: ClientUnderTest,
    /// The requirements by which the client is judged [default: those of an agent for the built-in client, else those of an
    /// SDK].
    pub profile: Option<Profile>,
    /// The cases.
    pub plan: Plan,
    /// Seed of the plan.
    pub seed: u64,
    /// Maximum number of concurrent cases.
    pub jobs: NonZeroUsize,
    /// Known failures.
    pub baseline: Option<Baseline>,
}

pub(super) async fn execute(
    mut plan: ConformancePlan,
    directory: &RunDirectory,
    events: EventSink<'_>,
    cancel: &CancellationToken,
) -> Result<FinishedRun, RunError> {
    let mut waiting = std::mem::take(&mut plan.plan.cases);
    // Cases are taken from the end: those that wait longest start first.
    waiting.sort_by_cached_key(|case| (case.longest_wait(), Reverse(case.index)));
    let profile = plan.profile.unwrap_or_else(|| plan.client.default_profile());
    let start = Start {
        kind: RunKind::Conformance,
        subject: plan.client.name().to_owned(),
        seed: plan.seed,
        planned: waiting.len(),
        policy: PassPolicy::default(),
        profile: Some(profile),
        jobs: plan.jobs.get(),
        probe: None,
    };
    let mut session = Session::start(&start, directory, events);
    let (plan, judge) = (Arc::new(plan), Judge::new().map_err(RunError::Thread)?);
    let mut client_started = false;
    let mut running = JoinSet::new();
    loop {
        while running.len() < plan.jobs.get() {
            let Some(case) = waiting.pop() else { break };
            session.case_started(&case.id);
            running.spawn(execute_case(Arc::clone(&plan), profile, case, judge.clone()));
        }
        let finished = tokio::select! {
            biased;
            () = cancel.cancelled() => break,
            finished = running.join_next() => finished,
        };
        let Some(finished) = finished else { break };
        let judged = finished.map_err(RunError::Internal)??;
        if !client_started && let Some(reason) = unusable_command(&plan.client, &judged) {
            return Err(RunError::ClientCommand { command: plan.client.name().to_owned(), reason });
        }
        client_started = true;
        session.case_finished(judged);
    }
    let complete = !cancel.is_cancelled();
    Ok(session.finish(complete, plan.baseline.as_ref()).await)
}

async fn execute_case(
    plan: Arc<ConformancePlan>,
    profile: Profile,
    case: Case,
    judge: Judge,
) -> Result<JudgedCase, RunError> {
    let recorded = client_case::run(&case, profile, &plan.program, &plan.client).await;
    let Case { index, id, scenario, .. } = case;
    judge.judge(RecordedCase { index, id, scenario, evidence: Box::new(move || recorded.load()) }).await
}

/// Why the shell could not run the client command: POSIX shells exit with 127 if a command is not found and with 126 if
/// it is not executable.
fn unusable_command(client: &ClientUnderTest, judged: &JudgedCase) -> Option<String> {
    let (code, stderr) = judged.idle_exit.as_ref().filter(|(code, _)| matches!(code, 126 | 127))?;
    let external = matches!(client, ClientUnderTest::External { .. });
    external.then(|| match stderr.trim() {
        "" => format!("the shell exited with code {code}"),
        stderr => stderr.to_owned(),
    })
}
