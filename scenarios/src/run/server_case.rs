//! Executes the scenarios of a server, and collects their evidence.
//!
//! A scenario has a process or session of its own ([`run_server_cases`]), or shares one with others ([`shared`]).

use std::{
    num::NonZeroUsize,
    ops::Range,
    sync::{Arc, LazyLock},
    thread::available_parallelism,
    time::Duration,
};

use evidence::{Direction, Frame};
use futures::FutureExt as _;
use serde_json::Value;
use tokio::{sync::Semaphore, time::Instant};

use crate::{
    evidence::{Evidence, Outcome, StepError, StepOutcome},
    model::{Revision, Scenario, ServerStep, SessionUse, Subject},
    peer::{FinishedPeer, Peer, PeerError, ProbeResult, ServerTarget, failure},
    plan::{limit_of, revisions_of, transports_of},
    run::ToolPolicy,
};

mod calls;
mod fill;
pub(super) mod ownership;
pub(super) mod shared;
mod steps;

/// The processes that start at the same time, one for each core. More would delay each other, and the longest scenarios, which
/// begin first, with them.
static STARTS: LazyLock<Semaphore> =
    LazyLock::new(|| Semaphore::new(available_parallelism().map_or(1, NonZeroUsize::get)));
/// The least time that a process has for its start, and how many times as long as that of the probe it may take.
const LONGEST_START: (Duration, u32) = (Duration::from_secs(1), 3);

/// Why a step has no value.
enum Failure {
    Step(StepError),
    Nothing(String),
}

impl From<StepError> for Failure {
    fn from(error: StepError) -> Self {
        Self::Step(error)
    }
}

/// Whether a scenario applies to a server in a revision.
///
/// # Errors
/// The reason why not: the revision, the transport, or a missing capability.
pub fn applies(scenario: &Scenario, probe_result: &ProbeResult, revision: Revision) -> Result<(), String> {
    if scenario.subject != Subject::Server {
        return Err("the scenario is for clients".to_owned());
    }
    if !revisions_of(scenario).contains(&revision) {
        return Err(format!("the scenario does not apply to {revision}"));
    }
    if !transports_of(scenario).contains(&probe_result.transport) {
        return Err(format!("the scenario does not apply over {}", probe_result.transport));
    }
    if scenario.without_handshake && probe_result.revisions().any(|revision| !revision.is_modern()) {
        return Err("the server supports revisions with a handshake".to_owned());
    }
    match &scenario.needs {
        Some(needs) if !probe_result.declares(revision, needs) => Err(format!("the server does not declare `{needs}`")),
        _ => Ok(()),
    }
}

/// Timeouts of a case.
#[derive(Debug, Clone, Copy)]
pub struct Timeouts {
    /// Timeout of the handshake.
    pub startup: Duration,
    /// Factor of all other timeouts: 1, or more for a repetition.
    pub leniency: u32,
}

/// The part of a session in which a scenario ran.
struct Part {
    frames: Range<u64>,
    steps: Vec<StepOutcome>,
    timed_out: bool,
    began_us: u64,
    ended_us: u64,
}

/// Runs scenarios in a process or session of their own: the first one, and those that [continue](Scenario::continues) it as far as it
/// leaves a session that they can use. Errors are part of the evidence. `policy` decides which tools may be called.
pub async fn run_server_cases(
    target: &ServerTarget,
    scenarios: &[Arc<Scenario>],
    probe_result: &ProbeResult,
    revision: Revision,
    timeouts: Timeouts,
    policy: &ToolPolicy,
) -> Vec<Evidence> {
    let mut collected = Vec::new();
    while let Some((first, others)) = scenarios.get(collected.len()..).and_then(<[_]>::split_first) {
        let permit = match target {
            ServerTarget::Command(_) => STARTS.acquire().await.ok(),
            ServerTarget::Url(_) => None,
        };
        match Peer::open(target, probe_result.transport, revision).await {
            Ok(peer) => {
                if let Some(permit) = permit {
                    let started = peer.first_message(longest_start(probe_result));
                    tokio::spawn(async move {
                        started.await;
                        drop(permit);
                    });
                }
                let peer = peer.numbered_for(&first.scenario).with_leniency(timeouts.leniency);
                let peer = peer.counting_in(&probe_result.vain_work).declaring(first.capabilities.clone());
                collected.extend(converse(peer, first, others, probe_result, timeouts.startup, policy).await);
            }
            Err(error) => collected.push(unstarted(first, probe_result, revision, &error)),
        }
    }
    collected
}

/// How long a process of the server may send nothing before it has started.
fn longest_start(probe_result: &ProbeResult) -> Duration {
    let (least, starts) = LONGEST_START;
    least.max(probe_result.startup * starts)
}

async fn converse(
    mut peer: Peer,
    scenario: &Scenario,
    others: &[Arc<Scenario>],
    probe_result: &ProbeResult,
    startup: Duration,
    policy: &ToolPolicy,
) -> Vec<Evidence> {
    let revision = peer.revision();
    let is_newest = probe_result.is_newest(revision);
    let mut outcomes = Vec::new();
    let (mut broken, mut is_open) = (None, true);
    // A scenario that starts with `raw` skips the handshake, and a server that rejected all handshakes has none to offer.
    let is_closed = scenario.judges_authorization() && probe_result.identities.is_empty();
    if !is_closed && !matches!(scenario.steps.server().first(), Some(ServerStep::Raw(_))) {
        let (outcome, error) = handshake(&mut peer, probe_result, startup).await;
        outcomes.push(outcome);
        is_open = error.is_none();
        if is_open && scenario.session == SessionUse::Shared {
            peer.choose_era().await;
        }
        // The check judges why the handshake failed.
        broken = error.filter(|_| !scenario.judges_handshake());
    } else {
        peer.without_handshake(longest_start(probe_result));
    }
    let timed_out = is_open && take_steps(&mut peer, scenario, policy, is_newest, &mut outcomes).await;
    let mut parts = vec![Part::new(0, 0, &peer, outcomes, timed_out)];
    for other in others {
        let is_usable = broken.is_none() && parts.last().is_some_and(Part::has_succeeded);
        if !is_usable || !peer.can_continue(&other.capabilities).await {
            break;
        }
        let (from, began_us) = (peer.frame_count(), peer.now_us());
        let mut outcomes = vec![greeted(&peer, probe_result, began_us)];
        let timed_out = take_steps(&mut peer, other, policy, is_newest, &mut outcomes).await;
        parts.push(Part::new(from, began_us, &peer, outcomes, timed_out));
    }
    let FinishedPeer { mut frames, process, stderr, elapsed_us } = peer.end().await;
    if revision.is_modern() {
        leave_out_earlier_revisions(&mut frames);
    }
    let assigned =
        ownership::assign_successive(frames, &parts.iter().map(|part| part.frames.start).collect::<Vec<_>>());
    let last = parts.len() - 1;
    let scenarios = std::iter::once(scenario).chain(others.iter().map(Arc::as_ref));
    let recorded = scenarios.zip(parts.into_iter().zip(assigned)).enumerate();
    recorded
        .map(|(position, (scenario, (Part { steps, timed_out, began_us, ended_us, .. }, frames)))| {
            let is_last = position == last;
            Evidence {
                frames,
                steps,
                process: process.clone().filter(|_| is_last),
                stderr: stderr.clone(),
                timed_out,
                broken: broken.clone(),
                elapsed_us: if is_last { elapsed_us } else { ended_us } - began_us,
                ..Evidence::empty(scenario, probe_result.transport, revision)
            }
        })
        .collect()
}

impl Part {
    /// The part that ends now.
    fn new(from: u64, began_us: u64, peer: &Peer, steps: Vec<StepOutcome>, timed_out: bool) -> Self {
        Self { frames: from..peer.frame_count(), steps, timed_out, began_us, ended_us: peer.now_us() }
    }

    /// Whether no step failed.
    fn has_succeeded(&self) -> bool {
        !self.timed_out && !self.steps.iter().any(|step| matches!(step.outcome, Outcome::Error(_)))
    }
}

/// Removes what follows an accepted `initialize`, with which the server uses an earlier revision (2026-07-28,
/// basic/versioning#backward-compatibility-with-initialization-based-versions).
fn leave_out_earlier_revisions(frames: &mut Vec<Frame>) {
    let accepts = |frame: &Frame| {
        frame.direction == Direction::ServerToClient
            && frame.json().is_some_and(|message| message.pointer("/result/protocolVersion").is_some())
    };
    if let Some(accepted) = frames.iter().position(accepts) {
        frames.truncate(accepted + 1);
    }
}

/// Performs the handshake.
async fn handshake(peer: &mut Peer, probe_result: &ProbeResult, startup: Duration) -> (StepOutcome, Option<String>) {
    let began_us = peer.now_us();
    let (outcome, broken) = match peer.handshake(startup).await {
        Ok(_) => (Outcome::Value(description(peer, probe_result)), None),
        Err(error) => {
            let why = format!("the server did not complete the handshake: {}", error.message);
            (Outcome::Error(error), Some(why))
        }
    };
    (StepOutcome { step: None, server: None, began_us, ended_us: peer.now_us(), outcome }, broken)
}

/// The outcome of a handshake that succeeded.
fn greeted(peer: &Peer, probe_result: &ProbeResult, began_us: u64) -> StepOutcome {
    let outcome = Outcome::Value(description(peer, probe_result));
    StepOutcome { step: None, server: None, began_us, ended_us: peer.now_us(), outcome }
}

/// The server and its session, as checks see them.
fn description(peer: &Peer, probe_result: &ProbeResult) -> Value {
    let mut value = probe_result.as_value(peer.revision());
    if let Some(visible) = peer.session_is_visible_ascii() {
        value["session"] = serde_json::json!({ "visible_ascii": visible });
    }
    value
}

/// The response; `None` if there is none that a step needs. Checks judge it, so that only the end of the connection ends the step.
///
/// # Errors
/// [`StepError`] of the kind `closed`.
fn unless_closed(response: Result<Value, StepError>) -> Result<Option<Value>, StepError> {
    match response {
        Ok(response) => Ok(Some(response)),
        Err(error) if error.kind == "closed" => Err(error),
        Err(_) => Ok(None),
    }
}

/// Executes the steps. `is_newest` is whether the revision is the newest of its era. Returns whether the case timed out.
async fn take_steps(
    peer: &mut Peer,
    scenario: &Scenario,
    policy: &ToolPolicy,
    is_newest: bool,
    outcomes: &mut Vec<StepOutcome>,
) -> bool {
    let (all, limit) = (scenario.steps.server(), peer.limit(limit_of(scenario)));
    let extra_time = Arc::clone(peer.extra_time());
    let (began, before) = (Instant::now(), extra_time.so_far());
    let mut values = vec![Value::Null; all.len()];
    for (index, step) in all.iter().enumerate() {
        let began_us = peer.now_us();
        if step.once() && !is_newest {
            let outcome = Outcome::Skipped("it is taken only in the newest revision of its era".to_owned());
            outcomes.push(StepOutcome { step: Some(index), server: None, began_us, ended_us: began_us, outcome });
            continue;
        }
        // On the heap: the futures of all steps are large, and runs are started deep in other futures.
        let left = (limit + extra_time.so_far() - before).saturating_sub(began.elapsed());
        let taken = extra_time.timeout(left, steps::take(peer, step, &values, policy).boxed()).await;
        let timed_out = taken.is_err();
        let outcome = taken
            .unwrap_or_else(|_| Outcome::Error(failure("timed-out", format!("the case has a timeout of {limit:?}"))));
        let outcome = match outcome {
            Outcome::Value(value) => {
                values[index] = value.clone();
                Outcome::Value(peer.redact(value))
            }
            other => other,
        };
        outcomes.push(StepOutcome { step: Some(index), server: None, began_us, ended_us: peer.now_us(), outcome });
        if timed_out {
            return true;
        }
    }
    false
}

fn unstarted(scenario: &Scenario, probe_result: &ProbeResult, revision: Revision, error: &PeerError) -> Evidence {
    let broken = Some(error.to_string());
    Evidence { broken, ..Evidence::empty(scenario, probe_result.transport, revision) }
}
