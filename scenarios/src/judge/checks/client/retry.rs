//! Requests that a server rejects temporarily (RFC 9110, section 10.2.3), and streams that it closes for an interval
//! (2025-11-25, basic/transports#sending-messages-to-the-server).

use std::collections::HashMap;

use serde_json::Value;

use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope},
    transcript::{
        Body, ConnectionEvent, ConnectionFrames, Frame, Transcript, first_frame_after,
        http::{SESSION_HEADER, event_id, header, method, status},
    },
};

/// How much too early a request may come, in microseconds, since the clocks of two processes are compared.
const SLACK_US: u64 = 100_000;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "waits-as-asked",
        requirement: "http/retry-after",
        scope: Scope::Named,
        expected: "a request that was rejected with `Retry-After` is not repeated before that time",
        rule: Rule::Case(waits_as_asked),
    },
    Check {
        id: "waits-for-retry-interval",
        requirement: "http/retry-interval",
        scope: Scope::Named,
        expected: "a stream that was closed is not resumed before its `retry` interval has elapsed",
        rule: Rule::Case(waits_for_retry_interval),
    },
    Check {
        id: "resumes-from-the-last-event",
        requirement: "http/resumption",
        scope: Scope::Always,
        expected: "the `Last-Event-ID` of a resumed stream is that of the last event before it broke",
        rule: Rule::Case(resumes_from_the_last_event),
    },
];

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

fn waits_for_retry_interval(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    // The first request that resumes after an event. Event ids are unique in a session.
    let mut resumed: HashMap<(&str, &str), &Frame> = HashMap::new();
    for frame in transcript.client_frames() {
        if let Some(id) = header(frame, "last-event-id") {
            resumed.entry((&frame.server, id)).or_insert(frame);
        }
    }
    for connection in transcript.connections() {
        let retry_of = |frame: &&Frame| frame.http.as_ref()?.retry.as_ref()?.parse::<u64>().ok();
        let retry_ms = connection.frames.iter().rev().find_map(retry_of);
        let closed = connection.frames.iter().find(|frame| frame.body == Body::Event(ConnectionEvent::ClosedByServer));
        let (Some(retry_ms), Some(closed)) = (retry_ms, closed) else { continue };
        let ids = connection.frames.iter().filter_map(|frame| frame.http.as_ref()?.event_id.as_deref());
        let Some(again) = ids.filter_map(|id| resumed.get(&(connection.server, id))).min_by_key(|frame| frame.seq)
        else {
            continue;
        };
        let waited_us = again.at_us.saturating_sub(closed.at_us);
        let message = || format!("the stream was resumed after {} ms instead of {retry_ms} ms", waited_us / 1000);
        let early = waited_us + SLACK_US < retry_ms.saturating_mul(1000);
        findings.check(again.seq, if early { Err(message()) } else { Ok(()) });
    }
    findings.or_not_applicable("resumed streams", "no stream that was closed with a `retry` interval was resumed")
}

/// What makes two requests the same operation: the server, the method, and the tool or prompt.
fn operation(frame: &Frame) -> Option<(&str, &Value, Option<&Value>)> {
    let json = frame.json()?;
    Some((&frame.server, json.get("method")?, json.pointer("/params/name")))
}

/// The event after which a stream continues: a resumed stream begins with the one that its request names.
fn position(frame: &Frame) -> Option<&str> {
    event_id(frame).or_else(|| header(frame, "last-event-id"))
}

fn resumes_from_the_last_event(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for get in transcript.client_frames() {
        let Some(given) = header(get, "last-event-id") else { continue };
        let has_event = |connection: &&ConnectionFrames<'_>| {
            connection.frames.iter().any(|frame| frame.seq < get.seq && position(frame) == Some(given))
        };
        let Some(stream) = transcript.connections().iter().rev().find(has_event) else { continue };
        // What the server sent before the client closed the stream may not have arrived.
        let is_broken = |frame: &&Frame| frame.body == Body::Event(ConnectionEvent::ClosedByServer);
        let Some(broken) = stream.frames.iter().copied().find(is_broken).filter(|frame| frame.seq < get.seq) else {
            continue;
        };
        let before = stream.frames.iter().filter(|frame| frame.seq < broken.seq);
        // The connection may have ended inside the last event.
        let last: Vec<&str> = before.filter_map(|frame| position(frame)).rev().take(2).collect();
        let message =
            || format!("the client resumes from the event `{given}`, the last ones are `{}`", last.join("`, `"));
        findings.check(get.seq, if last.contains(&given) { Ok(()) } else { Err(message()) });
    }
    judge_polled_streams(transcript, &mut findings);
    findings.or_not_applicable("resumed streams", "the client resumed no stream that the server had closed")
}

/// With `retry` the server says that a stream of its own messages continues on the next connection (2025-11-25,
/// basic/transports#listening-for-messages-from-the-server). Without it a GET may open another stream.
fn judge_polled_streams(transcript: &Transcript<'_>, findings: &mut Findings) {
    for (index, stream) in transcript.connections().iter().enumerate() {
        let Some(get) = stream.request().filter(|frame| method(frame) == Some("GET")) else { continue };
        let is_closed = |frame: &&&Frame| frame.body == Body::Event(ConnectionEvent::ClosedByServer);
        let Some(closed) = stream.frames.iter().find(is_closed) else { continue };
        let has_retry = stream.frames.iter().any(|frame| frame.http.as_ref().is_some_and(|http| http.retry.is_some()));
        let ids: Vec<&str> = stream.frames.iter().filter_map(|frame| event_id(frame)).collect();
        if !has_retry || ids.is_empty() {
            continue;
        }
        let session = header(get, SESSION_HEADER);
        let gets = transcript.connections()[index + 1..].iter().filter_map(ConnectionFrames::request);
        let mut gets = gets.filter(|frame| method(frame) == Some("GET") && header(frame, SESSION_HEADER) == session);
        let is_resumed = |frame: &Frame| header(frame, "last-event-id").is_some_and(|id| ids.contains(&id));
        let Some(again) = gets.clone().find(|frame| frame.seq > closed.seq) else { continue };
        findings.saw(again.seq);
        if !gets.any(is_resumed) && header(again, "last-event-id").is_none() {
            let message = "a stream that was closed with a `retry` interval was opened again without Last-Event-ID";
            findings.fail(message, [closed.seq, again.seq]);
        }
    }
}

#[cfg(test)]
mod tests;
