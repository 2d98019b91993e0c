//! Executes one case whose subject is a server that somebody else wrote: its own process or session, the steps one after
//! another, and the evidence of it. It judges nothing.

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

/// Why a scenario says nothing about a server in a revision.
///
/// # Errors
/// The reason, in words for a report: the revision, the transport, or a capability that the server does not declare.
pub fn applies(scenario: &Scenario, facts: &ProbeResult, revision: Revision) -> Result<(), String> {
    if scenario.subject != Subject::Server {
        return Err("it judges clients".to_owned());
    }
    if !revisions_of(scenario).contains(&revision) {
        return Err(format!("it is not about {revision}"));
    }
    if !transports_of(scenario).contains(&facts.transport) {
        return Err(format!("it is not about {}", facts.transport));
    }
    match &scenario.needs {
        Some(needs) if !facts.declares(revision, needs) => Err(format!("the server does not declare `{needs}`")),
        _ => Ok(()),
    }
}

/// Runs one case. Whatever goes wrong is in the evidence. `startup` bounds the handshake.
pub async fn run_server_case(
    target: &ServerTarget,
    scenario: &Scenario,
    facts: &ProbeResult,
    revision: Revision,
    startup: Duration,
) -> Evidence {
    match Peer::open(target, facts.transport, revision).await {
        Ok(peer) => converse(peer, scenario, facts, startup).await,
        Err(error) => unstarted(scenario, facts, revision, &error),
    }
}

async fn converse(mut peer: Peer, scenario: &Scenario, facts: &ProbeResult, startup: Duration) -> Evidence {
    let revision = peer.revision();
    let mut outcomes = Vec::new();
    let mut broken = None;
    // A scenario that begins with `raw` speaks first.
    if !matches!(scenario.steps.server().first(), Some(ServerStep::Raw(_))) {
        let (outcome, error) = greet(&mut peer, facts, startup).await;
        outcomes.push(outcome);
        broken = error;
    }
    let limit = limit_of(scenario);
    let timed_out = broken.is_none() && take_steps(&mut peer, scenario.steps.server(), limit, &mut outcomes).await;
    let FinishedPeer { frames, process, stderr, elapsed_us } = peer.end().await;
    let recorded = Evidence::empty(scenario, facts.transport, revision);
    Evidence { frames, steps: outcomes, process, stderr, timed_out, broken, elapsed_us, ..recorded }
}

/// Greets the server. The outcome's value is what is known of the server, and of its session.
async fn greet(peer: &mut Peer, facts: &ProbeResult, startup: Duration) -> (StepOutcome, Option<String>) {
    let began_us = peer.now_us();
    let greeted = peer.greet(startup).await;
    let mut value = facts.as_value(peer.revision());
    if let Some(visible) = peer.session_is_visible_ascii() {
        value["session"] = serde_json::json!({ "visible_ascii": visible });
    }
    let (outcome, broken) = match greeted {
        Ok(_) => (Outcome::Value(value), None),
        Err(error) => {
            let why = format!("the server did not complete the handshake: {}", error.message);
            (Outcome::Error(error), Some(why))
        }
    };
    (StepOutcome { step: None, server: None, began_us, ended_us: peer.now_us(), outcome }, broken)
}

/// Takes the steps. Says whether the time ran out.
async fn take_steps(peer: &mut Peer, all: &[ServerStep], limit: Duration, outcomes: &mut Vec<StepOutcome>) -> bool {
    let deadline = Instant::now() + limit;
    let mut values = vec![Value::Null; all.len()];
    for (index, step) in all.iter().enumerate() {
        let began_us = peer.now_us();
        let taken = tokio::time::timeout_at(deadline, steps::take(peer, step, &values)).await;
        let timed_out = taken.is_err();
        let outcome = taken
            .unwrap_or_else(|_| Outcome::Error(failure("timed-out", format!("the case has a limit of {limit:?}"))));
        let outcome = match outcome {
            Outcome::Value(value) => {
                values[index] = value.clone();
                Outcome::Value(peer.scrub(value))
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

fn unstarted(scenario: &Scenario, facts: &ProbeResult, revision: Revision, error: &PeerError) -> Evidence {
    let broken = Some(error.to_string());
    Evidence { broken, ..Evidence::empty(scenario, facts.transport, revision) }
}
