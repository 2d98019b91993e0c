//! Runs scenarios against a client, several cases at a time.

use std::{cmp::Reverse, num::NonZeroUsize, path::PathBuf, sync::Arc, time::Duration};

use reports::model::{PassPolicy, Profile, RunKind};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{
    Baseline, ClientUnderTest, EventSink, FinishedRun, RunDirectory, RunError,
    client_case::{self, CaseSetting, RecordedClientCase},
    repetition::{Repeatable, repeat_all},
    session::{Judge, JudgedCase, RecordedCase, Session, Start},
    starts::Starts,
};
use crate::{
    evidence::Evidence,
    plan::{Case, Plan, TimeFactor},
};

/// Maximum time of all repetitions. What failed after it is reported as it is.
const REPETITIONS: Duration = Duration::from_secs(120);

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
    /// Factor of the time limits of a case.
    pub time_factor: TimeFactor,
    /// Whether servers with Streamable HTTP listen at Unix sockets, unless they are protected by an authorization server.
    pub unix_sockets: bool,
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
        call_tools: &[],
        jobs: plan.jobs.get(),
        probe: None,
    };
    let mut session = Session::start(&start, directory, events);
    let starts = Arc::new(Starts::new(&plan.client));
    let (plan, judge) = (Arc::new(plan), Judge::new().map_err(RunError::Thread)?);
    let mut client_started = false;
    let mut running = JoinSet::new();
    let mut doubtful = Vec::new();
    loop {
        while running.len() < plan.jobs.get() {
            let Some(case) = waiting.pop() else { break };
            session.case_started(&case.id);
            let (plan, starts) = (Arc::clone(&plan), Arc::clone(&starts));
            let attempt = Attempt { plan, starts, profile, case, judge: judge.clone() };
            running.spawn(async move { attempt.judged().await.map(|judged| (attempt, judged)) });
        }
        let finished = tokio::select! {
            biased;
            () = cancel.cancelled() => break,
            finished = running.join_next() => finished,
        };
        let Some(finished) = finished else { break };
        let (attempt, judged) = finished.map_err(RunError::Internal)??;
        if !client_started && let Some(reason) = unusable_command(&plan.client, &judged) {
            return Err(RunError::ClientCommand { command: plan.client.name().to_owned(), reason });
        }
        client_started = true;
        if judged.depends_on_time {
            doubtful.push((attempt, judged));
        } else {
            session.case_finished(judged);
        }
    }
    repeat_all(doubtful, |_| REPETITIONS, &judge, &mut session, cancel).await?;
    let complete = !cancel.is_cancelled();
    Ok(session.finish(complete, plan.baseline.as_ref(), Some(&judge)).await)
}

/// A case with what is needed to run it.
struct Attempt {
    plan: Arc<ConformancePlan>,
    starts: Arc<Starts>,
    profile: Profile,
    case: Case,
    judge: Judge,
}

impl Attempt {
    async fn record(&self) -> RecordedClientCase {
        let setting = CaseSetting {
            profile: self.profile,
            time_factor: self.plan.time_factor,
            unix_sockets: self.plan.unix_sockets,
            program: &self.plan.program,
            client: &self.plan.client,
            starts: &self.starts,
        };
        client_case::run(&self.case, setting).await
    }

    async fn judged(&self) -> Result<JudgedCase, RunError> {
        let recorded = self.record().await;
        self.judge.judge(self.with_evidence(move || recorded.load())).await
    }

    fn with_evidence(&self, evidence: impl FnOnce() -> Evidence + Send + 'static) -> RecordedCase {
        let Case { index, id, scenario, .. } = self.case.clone();
        RecordedCase { index, id, scenario, evidence: Box::new(evidence) }
    }
}

impl Repeatable for Attempt {
    async fn once_more(&self) -> Result<Option<Evidence>, RunError> {
        let recorded = self.record().await;
        self.judge.execute(move || recorded.load()).await.map(Some)
    }

    fn recorded(&self, evidence: Evidence) -> RecordedCase {
        self.with_evidence(move || evidence)
    }
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
