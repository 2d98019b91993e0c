//! Validates a server: opens a session in each revision that it supports, runs all scenarios that apply, and repeats what
//! failed by time.

use std::{
    cmp::Reverse,
    collections::BTreeMap,
    num::NonZeroUsize,
    sync::Arc,
    time::{Duration, Instant},
};

use evidence::{Body, Direction};
use futures::{FutureExt, StreamExt, future::BoxFuture, stream};
use reports::model::{PassPolicy, Portability, RunKind, ToolCalls, Verdict};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{
    Baseline, EventSink, FinishedRun, RunDirectory, RunError, ToolPolicy,
    repetition::{Repeatable, repeat_all},
    server_case::{Timeouts, applies, run_server_cases, shared::SharedSession},
    session::{Judge, RecordedCase, Session, Start},
};
use crate::{
    evidence::{Evidence, Outcome, StepOutcome},
    model::{Revision, Scenario, ServerStep, SessionUse, Subject, Transport},
    peer::{
        Discovery, DiscoveryOptions, FailedHandshake, Peer, PeerError, ProbeResult, ServerTarget, discover,
        discover_older,
    },
    plan::{case_id, limit_of, revisions_of},
    select::CheckSelection,
};

/// Factor of the timeouts of a repetition.
const LENIENCY: u32 = 3;
/// Maximum time of the repetitions of warnings, and of all. What failed after it is reported as it is.
const REPEATED_WARNINGS: Duration = Duration::from_secs(60);
const REPETITIONS: Duration = Duration::from_secs(90);
/// The check on the first request of 2026-07-28.
const DISCOVERY_CHECK: &str = "discover-result";
/// Why the cases of a protected server are blocked.
const NEEDS_TOKEN: &str = "the server requires a token (HTTP 401), and none was given, so only its authorization was tested: \
    log in with `--oauth`, or send a token with `--header 'Authorization: Bearer …'`";

/// Summarizes how model providers accept tools, given as a server lists them.
pub type PortabilityOf = fn(&[Value]) -> Vec<Portability>;

/// Scenarios against a server.
#[derive(Debug)]
pub struct ValidatePlan {
    /// The server.
    pub target: ServerTarget,
    /// Name of the server in reports, without secrets.
    pub subject: String,
    /// The scenarios; those for clients are ignored.
    pub scenarios: Vec<Arc<Scenario>>,
    /// The checks and scenarios to run.
    pub selection: CheckSelection,
    /// Ids of cases that are known to fail.
    pub baseline: Option<Baseline>,
    /// The seed of generated values.
    pub seed: u64,
    /// The revisions to test; empty: all that the server supports.
    pub revisions: Vec<Revision>,
    /// The transport of a URL; `None`: Streamable HTTP, or HTTP+SSE if the server supports nothing else.
    pub transport: Option<Transport>,
    /// Timeout of the first response.
    pub startup: Duration,
    /// Maximum number of concurrent processes or sessions.
    pub jobs: NonZeroUsize,
    /// The verdicts that fail the run.
    pub policy: PassPolicy,
    /// The tools that may be called.
    pub call_tools: ToolPolicy,
    /// For the section of the report about model providers; `None`: without it.
    pub portability: Option<PortabilityOf>,
}

impl ValidatePlan {
    /// The default of [`jobs`](Self::jobs): twice the number of cores, because a session waits half of its time.
    pub fn default_jobs() -> NonZeroUsize {
        let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        cores.saturating_add(cores.get())
    }
}

/// A scenario in a revision.
#[derive(Clone)]
struct ServerCase {
    id: String,
    scenario: Arc<Scenario>,
    revision: Revision,
}

impl ServerCase {
    fn new(scenario: &Arc<Scenario>, facts: &ProbeResult, revision: Revision) -> Self {
        let id = case_id(&scenario.scenario, facts.transport, revision);
        Self { id, scenario: Arc::clone(scenario), revision }
    }

    /// Whether it can use the session that another case leaves.
    fn continues(&self, other: &Self) -> bool {
        self.revision == other.revision && self.scenario.continues.as_ref() == Some(&other.scenario.scenario)
    }

    /// The case with its position among all, which are sorted by id.
    fn recorded(&self, all: &[Self], evidence: Evidence) -> RecordedCase {
        let Self { id, scenario, .. } = self.clone();
        let index = all.partition_point(|other| other.id < id);
        RecordedCase { index, id, scenario, evidence: Box::new(move || evidence) }
    }
}

pub(super) async fn execute(
    plan: ValidatePlan,
    directory: &RunDirectory,
    events: EventSink<'_>,
    cancel: &CancellationToken,
) -> Result<FinishedRun, RunError> {
    let began = Instant::now();
    let options =
        DiscoveryOptions { revisions: plan.revisions.clone(), transport: plan.transport, startup: plan.startup };
    let discovery = cancel.run_until_cancelled(discover(&plan.target, &options)).await;
    let mut discovery = discovery.ok_or(RunError::Cancelled)??;
    // While the server is started in older revisions, its sessions in the newest ones are tested.
    let newest = discovery.result.clone();
    let run = Run { plan: &plan, facts: &newest, cancel };
    let sessions = if discovery.older.is_empty() { Vec::new() } else { std::mem::take(&mut discovery.sessions) };
    let cases = if sessions.is_empty() { Vec::new() } else { run.early_cases()? };
    let (sender, receiver) = mpsc::unbounded_channel();
    let early = stream::iter(run.shared_sessions(sessions, &cases)).buffer_unordered(Revision::ALL.len());
    let early = send_all(early, sender.clone(), cancel);
    let others = async {
        let discovery = cancel.run_until_cancelled(discover_older(&plan.target, discovery, plan.startup)).await;
        let discovery = discovery.ok_or(RunError::Cancelled)??;
        run_cases(&plan, began, discovery, (sender, receiver), directory, events, cancel).await
    };
    let ((), finished) = futures::try_join!(early, others)?;
    Ok(finished)
}

/// Runs all cases but those that have begun, in the sessions that `discovery` no longer has, and judges all.
async fn run_cases(
    plan: &ValidatePlan,
    began: Instant,
    discovery: Discovery,
    (sender, mut receiver): (mpsc::UnboundedSender<Recorded>, mpsc::UnboundedReceiver<Recorded>),
    directory: &RunDirectory,
    events: EventSink<'_>,
    cancel: &CancellationToken,
) -> Result<FinishedRun, RunError> {
    let Discovery { result: facts, sessions, failed, needs_token_in, .. } = discovery;
    let cases = planned_cases(plan, &facts, failed.as_ref(), needs_token_in)?;
    let start = Start {
        profile: None,
        call_tools: plan.call_tools.values(),
        kind: RunKind::Validate,
        subject: plan.subject.clone(),
        seed: plan.seed,
        planned: cases.len(),
        policy: plan.policy,
        jobs: plan.jobs.get(),
        probe: Some(&facts),
    };
    let mut session = Session::start(&start, directory, events);
    session.began(began);
    let judge = Judge::with_selection(plan.selection.clone()).map_err(RunError::Thread)?;
    let run = Run { plan, facts: &facts, cancel };
    let units =
        if needs_token_in.is_some() { run.protected_units(&cases) } else { run.units(&cases, sessions, failed) };
    // The shared sessions are open already, and mostly wait.
    let shared = stream::iter(units.shared).buffer_unordered(Revision::ALL.len());
    let own = stream::iter(units.own).buffer_unordered(plan.jobs.get());
    let running = send_all(stream::select(shared, own), sender, cancel);
    let judging = async {
        let mut doubtful = Vec::new();
        let mut calls = BTreeMap::new();
        let mut tools: Option<(Revision, Vec<Value>)> = None;
        while let Some(recorded) = receiver.recv().await {
            for (case, evidence) in recorded {
                let is_newer = tools.as_ref().is_none_or(|(revision, _)| case.revision > *revision);
                // The evidence of a whole session repeats that of its scenarios.
                if case.scenario.session != SessionUse::Whole {
                    count_calls(&evidence, &mut calls);
                }
                if let Some(listed) = listed_tools(&case.scenario, &evidence).filter(|_| is_newer) {
                    tools = Some((case.revision, listed));
                }
                let judged = judge.judge(case.recorded(&cases, evidence)).await?;
                let is_doubtful =
                    judged.depends_on_time || run.may_continue(&case) && judged.result.verdict > Verdict::Passed;
                if is_doubtful && needs_token_in.is_none() {
                    doubtful.push((Alone { run: &run, cases: &cases, case }, judged));
                } else {
                    session.case_finished(judged);
                }
            }
        }
        Ok((doubtful, tools, calls))
    };
    let ((), (doubtful, tools, calls)) = futures::try_join!(running, judging)?;
    let limit = |verdict: Verdict| if verdict.is_failure() { REPETITIONS } else { REPEATED_WARNINGS };
    repeat_all(doubtful, limit, &judge, &mut session, cancel).await?;
    if let Some((_, tools)) = tools {
        let portability = plan.portability.map(|portability| portability(&tools)).unwrap_or_default();
        session.note_tools(tool_calls(&tools, &calls, &plan.call_tools), portability);
    }
    Ok(session.finish(!cancel.is_cancelled(), plan.baseline.as_ref(), Some(&judge)).await)
}

/// Sends what was recorded, so that cases go on while others are judged.
async fn send_all(
    mut running: impl futures::Stream<Item = Recorded> + Unpin,
    sender: mpsc::UnboundedSender<Recorded>,
    cancel: &CancellationToken,
) -> Result<(), RunError> {
    while let Some(recorded) = running.next().await {
        if cancel.is_cancelled() || sender.send(recorded).is_err() {
            break;
        }
    }
    Ok(())
}

fn planned_cases(
    plan: &ValidatePlan,
    facts: &ProbeResult,
    failed: Option<&FailedHandshake>,
    needs_token_in: Option<Revision>,
) -> Result<Vec<ServerCase>, RunError> {
    if let Some(failed) = failed {
        return Ok(failed_cases(&plan.scenarios, facts, failed));
    }
    let scenarios: Vec<Arc<Scenario>> =
        plan.scenarios.iter().filter(|scenario| plan.selection.needs(scenario)).cloned().collect();
    let Some(revision) = needs_token_in else { return Ok(cases(&scenarios, facts)) };
    // A user who asks for other checks must not get a run without them that passes.
    let tested = |scenario: &Arc<Scenario>| scenario.judges_authorization() || !plan.selection.is_narrow();
    if scenarios.is_empty() || !scenarios.iter().all(tested) {
        return Err(RunError::Peer(PeerError::Unauthorized { url: plan.subject.clone(), status: 401 }));
    }
    Ok(protected_cases(&plan.scenarios, facts, revision))
}

/// The tools that a scenario listed, all pages.
fn listed_tools(scenario: &Scenario, evidence: &Evidence) -> Option<Vec<Value>> {
    let is_list = |step: &ServerStep| matches!(step, ServerStep::Pages(pages) if pages.method == "tools/list");
    let position = scenario.steps.server().iter().position(is_list)?;
    let outcome = evidence.steps.iter().find(|outcome| outcome.step == Some(position))?;
    let Outcome::Value(value) = &outcome.outcome else { return None };
    value.get("items")?.as_array().filter(|items| !items.is_empty()).cloned()
}

/// Counts the calls of each tool.
fn count_calls(evidence: &Evidence, calls: &mut BTreeMap<String, usize>) {
    let sent = evidence.frames.iter().filter(|frame| frame.direction == Direction::ClientToServer);
    let messages = sent.filter_map(|frame| match &frame.body {
        Body::Json(message) if message.get("method").is_some_and(|method| method == "tools/call") => Some(message),
        _ => None,
    });
    for name in messages.filter_map(|message| message.pointer("/params/name")?.as_str()) {
        *calls.entry(name.to_owned()).or_default() += 1;
    }
}

/// How often each listed tool was called.
fn tool_calls(tools: &[Value], calls: &BTreeMap<String, usize>, policy: &ToolPolicy) -> Vec<ToolCalls> {
    let of_tool = |tool: &Value| {
        let name = tool.get("name")?.as_str()?;
        let calls = calls.get(name).copied().unwrap_or_default();
        let reason = (calls == 0).then(|| policy.permits(tool).err().unwrap_or("no selected scenario calls it"));
        Some(ToolCalls { tool: name.to_owned(), calls, reason: reason.map(str::to_owned) })
    };
    tools.iter().filter_map(of_tool).collect()
}

/// All cases, sorted by id.
fn cases(scenarios: &[Arc<Scenario>], facts: &ProbeResult) -> Vec<ServerCase> {
    let scenarios = scenarios.iter().filter(|scenario| scenario.subject == Subject::Server);
    let cases = scenarios.flat_map(|scenario| {
        facts
            .revisions()
            .filter(|revision| !scenario.once || runs_once_in(scenario, facts, *revision))
            .map(move |revision| ServerCase::new(scenario, facts, revision))
    });
    in_order(cases.collect())
}

/// Whether a scenario that runs once runs in a revision: the newest of its era. The one that sends SIGTERM runs in the oldest
/// of all, so that it needs no process of its own: the end of the input ends the newest sessions.
fn runs_once_in(scenario: &Scenario, facts: &ProbeResult, revision: Revision) -> bool {
    if terminates(scenario) {
        return facts.revisions().next() == Some(revision);
    }
    facts.is_newest(revision)
}

fn terminates(scenario: &Scenario) -> bool {
    scenario.steps.server().iter().any(|step| matches!(step, ServerStep::Terminate(_)))
}

/// The position of a scenario in a shared session: subscriptions and then cancelled calls come first, so that updates and
/// progress have time to arrive. Those that may end the session come last, after those that send raw text, as the responses after
/// malformed text are judged less strictly.
fn position(case: &ServerCase) -> u8 {
    let requests = |method: &str, step: &ServerStep| matches!(step, ServerStep::Request(one) if one.method == method);
    let unsubscribes = case.scenario.steps.server().iter().any(|step| requests("resources/unsubscribe", step));
    let of_step = |step: &ServerStep| match step {
        step if requests("resources/subscribe", step) && !unsubscribes => 0,
        ServerStep::CallTools(calls) if calls.cancel => 1,
        ServerStep::Close(_) | ServerStep::Terminate(_) => 5,
        ServerStep::Raw(_) => 4,
        _ => 2 + u8::from(case.scenario.once),
    };
    let positions = || case.scenario.steps.server().iter().map(of_step);
    positions().find(|position| *position < 2).or_else(|| positions().max()).unwrap_or_default()
}

/// The cases for a server without a successful handshake: the handshake alone.
fn failed_cases(scenarios: &[Arc<Scenario>], facts: &ProbeResult, failed: &FailedHandshake) -> Vec<ServerCase> {
    let scenarios = scenarios.iter().filter(|scenario| scenario.judges_handshake());
    in_order(scenarios.map(|scenario| ServerCase::new(scenario, facts, failed.revision)).collect())
}

/// The cases for a server whose token is unknown: its authorization, and the handshake or the discovery, which is blocked.
fn protected_cases(scenarios: &[Arc<Scenario>], facts: &ProbeResult, revision: Revision) -> Vec<ServerCase> {
    let is_first = |scenario: &Scenario| {
        scenario.judges_handshake() || scenario.checks.iter().any(|check| check == DISCOVERY_CHECK)
    };
    let judged = |scenario: &&Arc<Scenario>| scenario.judges_authorization() || is_first(scenario);
    let judged = scenarios.iter().filter(judged).filter(|scenario| revisions_of(scenario).contains(&revision));
    in_order(judged.map(|scenario| ServerCase::new(scenario, facts, revision)).collect())
}

fn in_order(mut cases: Vec<ServerCase>) -> Vec<ServerCase> {
    cases.sort_by(|one, other| one.id.cmp(&other.id));
    cases
}

type Recorded = Vec<(ServerCase, Evidence)>;

/// What runs at the same time.
#[derive(Default)]
struct Units<'r> {
    /// The shared session of each revision.
    shared: Vec<BoxFuture<'r, Recorded>>,
    /// Each case with a session of its own.
    own: Vec<BoxFuture<'r, Recorded>>,
}

struct Run<'r> {
    plan: &'r ValidatePlan,
    facts: &'r ProbeResult,
    cancel: &'r CancellationToken,
}

impl<'r> Run<'r> {
    /// What runs at the same time. The shared session of a revision without one in `sessions` has begun, with all cases but
    /// those that terminate the server.
    fn units(&self, cases: &[ServerCase], sessions: Vec<Peer>, failed: Option<FailedHandshake>) -> Units<'r> {
        let mut units = Units::default();
        if let Some(failed) = failed {
            let recorded = cases.iter().map(|case| (case.clone(), self.handshake_evidence(case, &failed))).collect();
            units.own.push(async move { recorded }.boxed());
            return units;
        }
        let revisions: Vec<Revision> = sessions.iter().map(Peer::revision).collect();
        units.shared = self.shared_sessions(sessions, cases);
        let (mut own, mut skipped) = (Vec::new(), Recorded::new());
        for case in cases {
            if let Err(reason) = self.applies(case) {
                let evidence = Evidence::skipped(&case.scenario, self.facts.transport, case.revision, reason);
                skipped.push((case.clone(), evidence));
            } else if !self.shares_session(case) || !revisions.contains(&case.revision) && terminates(&case.scenario) {
                own.push(case.clone());
            }
        }
        units.own.push(async move { skipped }.boxed());
        // The one that takes the longest does not begin last.
        let mut successive = self.successive(own);
        successive.sort_by_key(|cases| Reverse(cases.iter().map(|case| limit_of(&case.scenario)).sum::<Duration>()));
        units.own.extend(successive.into_iter().map(|cases| self.alone(cases, 1).boxed()));
        units
    }

    /// The cases in the shared sessions of the newest revisions, before it is known which older ones the server supports.
    fn early_cases(&self) -> Result<Vec<ServerCase>, RunError> {
        let mut cases = planned_cases(self.plan, self.facts, None, None)?;
        cases.retain(|case| !terminates(&case.scenario));
        Ok(cases)
    }

    /// The session of each revision, with its cases that share it.
    fn shared_sessions(&self, sessions: Vec<Peer>, cases: &[ServerCase]) -> Vec<BoxFuture<'r, Recorded>> {
        let is_shared = |case: &&ServerCase| self.shares_session(case) && self.applies(case).is_ok();
        let of_session = |peer: Peer| {
            let shared = cases.iter().filter(|case| case.revision == peer.revision()).filter(is_shared);
            let shared = shared.cloned().collect();
            self.share(peer, shared).boxed()
        };
        sessions.into_iter().map(of_session).collect()
    }

    fn applies(&self, case: &ServerCase) -> Result<(), String> {
        applies(&case.scenario, self.facts, case.revision)
    }

    /// Whether the case can have the process of another one, which may have left a state that makes this one fail.
    fn may_continue(&self, case: &ServerCase) -> bool {
        self.facts.transport == Transport::Stdio && case.scenario.continues.is_some()
    }

    /// Cases that do not share a session, in groups that use one after another.
    fn successive(&self, own: Vec<ServerCase>) -> Vec<Vec<ServerCase>> {
        let (mut later, first): (Vec<ServerCase>, Vec<ServerCase>) =
            own.into_iter().partition(|case| self.may_continue(case));
        let mut groups: Vec<Vec<ServerCase>> = first.into_iter().map(|case| vec![case]).collect();
        // A case that another one continues comes first.
        while let Some(next) = later.iter().position(|case| !later.iter().any(|other| case.continues(other))) {
            let case = later.remove(next);
            match groups.iter_mut().find(|group| group.last().is_some_and(|last| case.continues(last))) {
                Some(group) => group.push(case),
                None => groups.push(vec![case]),
            }
        }
        groups
    }

    /// What is known about a server without a token.
    fn protected_units(&self, cases: &[ServerCase]) -> Units<'r> {
        let mut units = Units::default();
        for case in cases.iter().cloned() {
            if case.scenario.judges_authorization() {
                units.own.push(self.alone(vec![case], 1).boxed());
            } else {
                let empty = Evidence::empty(&case.scenario, self.facts.transport, case.revision);
                let evidence = Evidence { broken: Some(NEEDS_TOKEN.to_owned()), ..empty };
                units.own.push(async move { vec![(case, evidence)] }.boxed());
            }
        }
        units
    }

    /// Whether the scenario of the case runs in the session of its revision.
    fn shares_session(&self, case: &ServerCase) -> bool {
        case.scenario.session != SessionUse::Own && !self.is_better_alone(case)
    }

    fn shared_session(&self, revision: Revision) -> SharedSession<'r> {
        let Self { plan, facts, cancel } = *self;
        let (target, startup, call_tools) = (&plan.target, plan.startup, &plan.call_tools);
        SharedSession { target, facts, revision, startup, call_tools, cancel }
    }

    /// Runs the shared session of a revision again, for the case that judges all of it. `None` if it cannot be opened.
    async fn share_again(&self, case: &ServerCase, all: &[ServerCase]) -> Option<Evidence> {
        let peer = self.shared_session(case.revision).open(1).await.ok()?;
        let recorded = self.shared_sessions(vec![peer], all).pop()?.await;
        recorded.into_iter().find(|(other, _)| other.id == case.id).map(|(_, evidence)| evidence)
    }

    /// A session of a URL costs no process, so long scenarios run at the same time as the others.
    fn is_better_alone(&self, case: &ServerCase) -> bool {
        self.facts.transport != Transport::Stdio && case.scenario.once && case.scenario.session == SessionUse::Shared
    }

    /// Runs cases in a process or session of their own.
    fn alone(&self, cases: Vec<ServerCase>, leniency: u32) -> impl Future<Output = Recorded> + Send + use<'r> {
        let Self { plan, facts, cancel } = *self;
        let timeouts = Timeouts { startup: plan.startup, leniency };
        async move {
            let Some(revision) = cases.first().map(|case| case.revision) else { return Recorded::new() };
            let scenarios: Vec<Arc<Scenario>> = cases.iter().map(|case| Arc::clone(&case.scenario)).collect();
            let running = run_server_cases(&plan.target, &scenarios, facts, revision, timeouts, &plan.call_tools);
            match cancel.run_until_cancelled(running).await {
                Some(evidence) => cases.into_iter().zip(evidence).collect(),
                None => Recorded::new(),
            }
        }
    }

    fn share(&self, peer: Peer, cases: Vec<ServerCase>) -> impl Future<Output = Recorded> + Send + use<'r> {
        let (cancel, session) = (self.cancel, self.shared_session(peer.revision()));
        async move {
            let (whole, mut cases): (Vec<_>, Vec<_>) =
                cases.into_iter().partition(|case| case.scenario.session == SessionUse::Whole);
            cases.sort_by_key(position);
            let scenarios: Vec<Arc<Scenario>> = cases.iter().map(|case| Arc::clone(&case.scenario)).collect();
            let shared = session.run(peer, &scenarios).await;
            let mut recorded: Recorded = cases.into_iter().zip(shared.scenarios).collect();
            if let Some(case) = whole.into_iter().next().filter(|_| !cancel.is_cancelled()) {
                let evidence = Evidence { scenario: case.scenario.scenario.clone(), ..shared.whole };
                recorded.push((case, evidence));
            }
            recorded
        }
    }

    fn handshake_evidence(&self, case: &ServerCase, failed: &FailedHandshake) -> Evidence {
        let finished = &failed.finished;
        let outcome = Outcome::Error(failed.error.clone());
        let step = StepOutcome { step: None, server: None, began_us: 0, ended_us: finished.elapsed_us, outcome };
        Evidence {
            frames: finished.frames.clone(),
            steps: vec![step],
            process: finished.process.clone(),
            stderr: finished.stderr.clone(),
            elapsed_us: finished.elapsed_us,
            ..Evidence::empty(&case.scenario, self.facts.transport, case.revision)
        }
    }
}

/// A case in a session of its own, with longer timeouts, or the shared session again.
struct Alone<'r> {
    run: &'r Run<'r>,
    /// All cases of the run.
    cases: &'r [ServerCase],
    case: ServerCase,
}

impl Repeatable for Alone<'_> {
    async fn once_more(&self) -> Result<Option<Evidence>, RunError> {
        if self.case.scenario.session == SessionUse::Whole {
            return Ok(self.run.share_again(&self.case, self.cases).await);
        }
        let recorded = self.run.alone(vec![self.case.clone()], LENIENCY).await.pop();
        Ok(recorded.map(|(_, evidence)| evidence))
    }

    fn recorded(&self, evidence: Evidence) -> RecordedCase {
        self.case.recorded(self.cases, evidence)
    }
}
