//! Ids of events, and the streams that go on after one of them (2025-11-25, basic/transports#resumability-and-redelivery).

use std::collections::{HashMap, HashSet};

use super::streams::{connection_number, messages, session_of};
use crate::{
    judge::{
        check::{Check, CheckOutcome, Findings, Rule, Scope, brief},
        transcript::{Frame, Transcript, http::event_id},
    },
    model::Transport,
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "event-ids-are-unique",
        requirement: "transports/event-ids",
        scope: Scope::Always,
        expected: "no two events of a session have the same id",
        rule: Rule::Case(event_ids),
    },
    Check {
        id: "resumed-stream-goes-on-after-the-event",
        requirement: "transports/resumed-after-the-event",
        scope: Scope::Always,
        expected: "a resumed stream does not repeat the message of the event in Last-Event-ID",
        rule: Rule::Case(repeated_event),
    },
    Check {
        id: "resumed-stream-has-its-own-messages",
        requirement: "transports/resumption",
        scope: Scope::Always,
        expected: "a resumed stream replays only messages of the same stream",
        rule: Rule::Case(resumption),
    },
];

/// The first event with each id, by the session that its exchange names.
fn first_events<'a>(transcript: &Transcript<'a>) -> HashMap<(Option<&'a str>, &'a str), &'a Frame> {
    let mut first = HashMap::new();
    for connection in transcript.connections() {
        let session = session_of(connection);
        for frame in connection.frames.iter().filter(|frame| !frame.from_client()) {
            if let Some(id) = event_id(frame) {
                first.entry((session, id)).or_insert(*frame);
            }
        }
    }
    first
}

fn event_ids(transcript: &Transcript<'_>) -> CheckOutcome {
    let first = first_events(transcript);
    let mut findings = Findings::default();
    for connection in transcript.connections() {
        let session = session_of(connection);
        let is_resumed = connection.resumes_after().is_some();
        for frame in connection.frames.iter().filter(|frame| !frame.from_client()) {
            let Some(id) = event_id(frame) else { continue };
            let first = first[&(session, id)];
            // A resumed stream repeats events with their ids, and the first exchange of a session does not name it. That an event
            // without a message has one there is a violation of another rule.
            let is_message = first.json().is_some() && frame.json().is_some();
            let is_replay = is_resumed && (!is_message || first.body == frame.body);
            let repeated = first.seq != frame.seq && !is_replay;
            let judged = transcript.evidence.transport == Transport::HttpSse || session.is_some();
            let message = || format!("the id `{id}` was used before");
            findings.check(frame.seq, if repeated && judged { Err(message()) } else { Ok(()) });
        }
    }
    findings.or_not_applicable("ids", "no event has an id")
}

fn repeated_event(transcript: &Transcript<'_>) -> CheckOutcome {
    let first = first_events(transcript);
    let mut findings = Findings::default();
    for connection in transcript.connections() {
        let Some(last) = connection.resumes_after() else { continue };
        let first = first.get(&(session_of(connection), last));
        let events = connection.frames.iter().filter(|frame| !frame.from_client() && frame.json().is_some());
        for frame in events {
            // An id that is used for another message is a violation of its own.
            let is_same = first.is_none_or(|first| first.body == frame.body);
            let repeats = event_id(frame) == Some(last) && is_same;
            let text = || format!("the event `{last}` is sent again: {}", frame.json().map_or_else(String::new, brief));
            findings.check(frame.seq, if repeats { Err(text()) } else { Ok(()) });
        }
    }
    findings.or_not_applicable("messages", "no stream was resumed")
}

fn resumption(transcript: &Transcript<'_>) -> CheckOutcome {
    // Sessions may use the same event ids and the same messages (2025-11-25, basic/transports#resumability-and-redelivery).
    let mut stream_of_id: HashMap<(Option<&str>, &str), u64> = HashMap::new();
    let mut streams: HashMap<(Option<&str>, String), HashSet<u64>> = HashMap::new();
    let mut findings = Findings::default();
    for connection in transcript.connections() {
        let (number, session) = (connection_number(connection), session_of(connection));
        let Some(last) = connection.resumes_after() else {
            for frame in connection.frames.iter().filter(|frame| !frame.from_client()) {
                if let Some(id) = event_id(frame) {
                    stream_of_id.entry((session, id)).or_insert(number);
                }
                if let Some(json) = frame.json() {
                    streams.entry((session, json.to_string())).or_default().insert(number);
                }
            }
            continue;
        };
        let Some(origin) = stream_of_id.get(&(session, last)) else { continue };
        for message in messages(connection) {
            let known = streams.get(&(session, message.json.to_string()));
            // Two notifications can be equal.
            let is_unique = message.id().is_some() || message.is("notifications/progress");
            let foreign = is_unique && known.is_some_and(|known| !known.contains(origin));
            let text = || format!("the stream replays {} of another stream", brief(message.json));
            findings.check(message.seq(), if foreign { Err(text()) } else { Ok(()) });
        }
        if let Some(first) = connection.frames.first() {
            findings.saw(first.seq);
        }
    }
    findings.or_not_applicable("messages", "no stream was resumed")
}
