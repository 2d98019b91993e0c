//! Requests that a server rejects temporarily (RFC 9110, section 10.2.3).

use std::collections::HashMap;

use serde_json::Value;

use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope},
    transcript::{
        Frame, Transcript, first_frame_after,
        http::{header, status},
    },
};

/// How much too early a request may come, in microseconds, since the clocks of two processes are compared.
const SLACK_US: u64 = 100_000;

pub(super) const CHECKS: &[Check] = &[Check {
    id: "waits-as-asked",
    requirement: "http/retry-after",
    scope: Scope::Named,
    expected: "a request that was rejected with `Retry-After` is not repeated before that time",
    rule: Rule::Case(waits_as_asked),
}];

fn waits_as_asked(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let mut similar: HashMap<_, Vec<&Frame>> = HashMap::new();
    for frame in transcript.client_frames() {
        if let Some(operation) = operation(frame) {
            similar.entry(operation).or_default().push(frame);
        }
    }
    for connection in transcript.connections() {
        let rejection = connection.frames.iter().find_map(|frame| Some((*frame, retry_after_us(frame)?)));
        let (Some(request), Some((rejection, wait_us))) = (connection.request(), rejection) else { continue };
        let similar = operation(request).and_then(|operation| similar.get(&operation));
        let again = similar.and_then(|frames| first_frame_after(frames, rejection.seq));
        let early = again.map(|again| again.at_us.saturating_sub(rejection.at_us));
        let early = early.filter(|after| after + SLACK_US < wait_us);
        let message =
            |after| format!("a request was repeated after {} ms instead of {} ms", after / 1000, wait_us / 1000);
        findings.check(rejection.seq, early.map_or(Ok(()), |after| Err(message(after))));
    }
    findings.or_blocked("rejections", "no request was rejected with `Retry-After`")
}

/// The wait that a rejection asks for, in microseconds.
fn retry_after_us(frame: &Frame) -> Option<u64> {
    status(frame).filter(|status| matches!(status, 429 | 503))?;
    header(frame, "retry-after")?.parse::<u64>().ok()?.checked_mul(1_000_000)
}

/// What makes two requests the same operation: the server, the method, and the tool or prompt.
fn operation(frame: &Frame) -> Option<(&str, &Value, Option<&Value>)> {
    let json = frame.json()?;
    Some((&frame.server, json.get("method")?, json.pointer("/params/name")))
}

#[cfg(test)]
mod tests;
