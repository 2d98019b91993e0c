//! Executes one case of a server in its own process or session, and collects the evidence.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use crate::{
    evidence::{Evidence, Outcome, StepOutcome},
    model::{Revision, Scenario, ServerStep, Subject},
    peer::{FinishedPeer, Peer, PeerError, ProbeResult, ServerTarget, failure},
    plan::{limit_of, revisions_of, transports_of},
};

mod fill;
mod steps;

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
    match &scenario.needs {
        Some(needs) if !probe_result.declares(revision, needs) => Err(format!("the server does not declare `{needs}`")),
        _ => Ok(()),
    }
}

/// Runs one case. Errors are part of the evidence. `startup` is the timeout of the handshake.
pub async fn run_server_case(
    target: &ServerTarget,
    scenario: &Scenario,
    probe_result: &ProbeResult,
    revision: Revision,
    startup: Duration,
) -> Evidence {
    match Peer::open(target, probe_result.transport, revision).await {
        Ok(peer) => converse(peer, scenario, probe_result, startup).await,
        Err(error) => unstarted(scenario, probe_result, revision, &error),
    }
}

async fn converse(mut peer: Peer, scenario: &Scenario, probe_result: &ProbeResult, startup: Duration) -> Evidence {
    let revision = peer.revision();
    let mut outcomes = Vec::new();
    let mut broken = None;
    // A scenario that starts with `raw` skips the handshake.
    if !matches!(scenario.steps.server().first(), Some(ServerStep::Raw(_))) {
        let (outcome, error) = handshake(&mut peer, probe_result, startup).await;
        outcomes.push(outcome);
        broken = error;
    }
    let limit = limit_of(scenario);
    let timed_out = broken.is_none() && take_steps(&mut peer, scenario.steps.server(), limit, &mut outcomes).await;
    let FinishedPeer { frames, process, stderr, elapsed_us } = peer.end().await;
    let recorded = Evidence::empty(scenario, probe_result.transport, revision);
    Evidence { frames, steps: outcomes, process, stderr, timed_out, broken, elapsed_us, ..recorded }
}

/// Performs the handshake. The value describes the server and its session.
async fn handshake(peer: &mut Peer, probe_result: &ProbeResult, startup: Duration) -> (StepOutcome, Option<String>) {
    let began_us = peer.now_us();
    let result = peer.handshake(startup).await;
    let mut value = probe_result.as_value(peer.revision());
    if let Some(visible) = peer.session_is_visible_ascii() {
        value["session"] = serde_json::json!({ "visible_ascii": visible });
    }
    let (outcome, broken) = match result {
        Ok(_) => (Outcome::Value(value), None),
        Err(error) => {
            let why = format!("the server did not complete the handshake: {}", error.message);
            (Outcome::Error(error), Some(why))
        }
    };
    (StepOutcome { step: None, server: None, began_us, ended_us: peer.now_us(), outcome }, broken)
}

/// Executes the steps. Returns whether the case timed out.
async fn take_steps(peer: &mut Peer, all: &[ServerStep], limit: Duration, outcomes: &mut Vec<StepOutcome>) -> bool {
    let deadline = Instant::now() + limit;
    let mut values = vec![Value::Null; all.len()];
    for (index, step) in all.iter().enumerate() {
        let began_us = peer.now_us();
        let taken = tokio::time::timeout_at(deadline, steps::take(peer, step, &values)).await;
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
