//! A handshake that did not succeed, with the facts that show why.

use super::NO_RESPONSE;
use crate::{
    evidence::{Outcome, StepError},
    judge::{
        check::{Check, CheckOutcome, Rule, Scope, brief},
        transcript::{Body, Transcript},
    },
    model::HANDSHAKE_CHECK,
};

pub(super) const CHECKS: &[Check] = &[Check {
    id: HANDSHAKE_CHECK,
    requirement: "lifecycle/server-responds",
    scope: Scope::Named,
    expected: "the server responds to the first request, so that a client can use it",
    rule: Rule::Case(completes),
}];

/// Maximum length of the shown output, in characters.
const MAX_SHOWN: usize = 200;

fn completes(transcript: &Transcript<'_>) -> CheckOutcome {
    let handshake = transcript.evidence.steps.iter().find(|step| step.step.is_none());
    match handshake.map(|step| &step.outcome) {
        Some(Outcome::Value(_)) => CheckOutcome::passed("the handshake completed", vec![]),
        Some(Outcome::Error(error)) => CheckOutcome::failed(failure(transcript, error), shown_frames(transcript)),
        Some(Outcome::Skipped(_)) | None => CheckOutcome::not_applicable("no handshake was made"),
    }
}

/// The error, what the server sent first, and how its process ended.
fn failure(transcript: &Transcript<'_>, error: &StepError) -> String {
    let mut text = format!("the handshake failed: {}", error.message);
    let first = transcript.evidence.frames.iter().find(|frame| !frame.from_client() && !is_event(&frame.body));
    match first.map(|frame| &frame.body) {
        Some(Body::Text(sent)) => {
            let shown: String = sent.chars().take(MAX_SHOWN).collect();
            text.push_str(&format!("; the server first sent {shown:?}"));
        }
        Some(Body::Json(message)) => text.push_str(&format!("; the server first sent {}", brief(message))),
        Some(Body::Event(_)) | None => text.push_str(&format!("; {NO_RESPONSE}")),
    }
    let process = transcript.evidence.process.as_ref();
    // Otherwise the workbench terminated the process.
    if let Some(code) = process.filter(|_| error.kind == "closed").and_then(|process| process.code) {
        text.push_str(&format!("; its process exited with code {code}"));
    }
    text
}

fn is_event(body: &Body) -> bool {
    matches!(body, Body::Event(_))
}

fn shown_frames(transcript: &Transcript<'_>) -> Vec<u64> {
    transcript.evidence.frames.iter().take(10).map(|frame| frame.seq).collect()
}
