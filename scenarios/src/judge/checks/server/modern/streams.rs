//! What the server may send on the stream of a request, and on its own account.

use serde_json::Value;

use super::{by_exchange, by_id, is_change, modern_requests, subscription_of};
use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope, brief},
    transcript::{
        Body, ConnectionEvent, IdKey, Message, Transcript,
        http::{header, is_stream},
    },
};

pub(in super::super) const CHECKS: &[Check] = &[
    Check {
        id: "server-sends-no-requests",
        requirement: "transports/no-server-requests",
        scope: Scope::Always,
        expected: "the server sends no requests",
        rule: Rule::Case(no_requests),
    },
    Check {
        id: "server-cancels-only-subscriptions",
        requirement: "cancellation/only-subscriptions",
        scope: Scope::Always,
        expected: "a cancellation of the server has the id of a subscription",
        rule: Rule::Case(cancellations),
    },
    Check {
        id: "http-response-on-its-own-stream",
        requirement: "transports/own-stream",
        scope: Scope::Always,
        expected: "the response to a request is on the exchange of that request",
        rule: Rule::Case(own_stream),
    },
    Check {
        id: "http-notifications-belong-to-the-request",
        requirement: "transports/related-notifications",
        scope: Scope::Always,
        expected: "the stream of a request has no notification of a subscription or of another request",
        rule: Rule::Case(related),
    },
    Check {
        id: "http-stream-ends-with-the-response",
        requirement: "transports/stream-ends",
        scope: Scope::Always,
        expected: "the stream of a request ends after the response",
        rule: Rule::Case(stream_ends),
    },
    Check {
        id: "http-stream-is-not-buffered",
        requirement: "transports/no-buffering",
        scope: Scope::Always,
        expected: "a stream of events has the header `X-Accel-Buffering: no`",
        rule: Rule::Case(unbuffered),
    },
];

/// How long a stream may stay open after the response.
const OPEN_US: u64 = 1_500_000;

fn no_requests(transcript: &Transcript<'_>) -> CheckOutcome {
    let messages = transcript.server_messages().map(|message| (message.seq(), message));
    let fault = |message: &Message<'_>| {
        let request = message.json.get("method").is_some() && message.id().is_some();
        request.then(|| format!("the server sent {}", brief(message.json)))
    };
    Findings::from_each(messages, fault).or_not_applicable("messages", "the server sent no message")
}

fn cancellations(transcript: &Transcript<'_>) -> CheckOutcome {
    let listens = by_id(transcript, "subscriptions/listen");
    let sent = transcript.server_messages().filter(|message| message.is("notifications/cancelled"));
    let sent = sent.map(|message| (message.seq(), message));
    let fault = |message: &Message<'_>| {
        let id = message.param("requestId");
        let known = id.is_some_and(|id| listens.contains_key(&IdKey::new(id)));
        (!known).then(|| format!("the server cancels {}", id.map_or_else(|| "nothing".to_owned(), brief)))
    };
    Findings::from_each(sent, fault).or_not_applicable("cancellations", "the server cancelled nothing")
}

fn own_stream(transcript: &Transcript<'_>) -> CheckOutcome {
    let requests = by_exchange(transcript);
    let responses =
        transcript.server_messages().filter(|one| one.is_response() && !one.id().is_none_or(Value::is_null));
    let responses = responses.filter_map(|one| Some((one.seq(), (requests.get(&one.frame.connection)?, one))));
    let fault = |(request, response): &(&&_, Message<'_>)| own_stream_fault(request, response);
    Findings::from_each(responses, fault).or_not_applicable("responses", "there was no response over HTTP")
}

fn own_stream_fault(request: &super::RequestResponse<'_>, response: &Message<'_>) -> Option<String> {
    let (id, own) = (response.id()?, request.request.id()?);
    (!crate::peer::same_text(id, own))
        .then(|| format!("the response to {} is on the exchange of {}", brief(id), brief(own)))
}

fn related(transcript: &Transcript<'_>) -> CheckOutcome {
    let requests = by_exchange(transcript);
    let sent = transcript.server_messages().filter(|one| one.id().is_none() && one.method().is_some());
    let sent = sent.filter_map(|one| Some((one.seq(), (*requests.get(&one.frame.connection)?, one))));
    let fault = |(request, message): &(&super::RequestResponse<'_>, Message<'_>)| related_fault(request, message);
    Findings::from_each(sent, fault).or_not_applicable("notifications", "there was no notification on a stream")
}

fn related_fault(request: &super::RequestResponse<'_>, message: &Message<'_>) -> Option<String> {
    let own = request.request.method().unwrap_or_default();
    let subscription = own == "subscriptions/listen";
    let acknowledged = message.is("notifications/subscriptions/acknowledged");
    let misplaced = match message.method()? {
        "notifications/progress" => {
            let token = request.param("_meta").and_then(|meta| meta.get("progressToken"));
            subscription || token.is_none() || message.param("progressToken") != token
        }
        "notifications/message" => subscription,
        _ => !subscription && (is_change(message) || acknowledged || subscription_of(message).is_some()),
    };
    misplaced.then(|| format!("the stream of `{own}` has {}", brief(message.json)))
}

fn stream_ends(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let end_us = transcript.evidence.frames.last().map_or(0, |frame| frame.at_us);
    for request in modern_requests(transcript).filter(|one| one.request.frame.http.is_some()) {
        let Some(response) = request.response.filter(|response| is_stream(response.frame)) else { continue };
        let Some(connection) = transcript.connection_of(response.frame) else { continue };
        if connection
            .frames
            .iter()
            .any(|frame| frame.seq > response.seq() && frame.json().is_some() && !frame.from_client())
        {
            findings.check(response.seq(), Err("the stream has messages after the response".to_owned()));
            continue;
        }
        // The response can be recorded right after the client has closed the stream.
        let ends = [ConnectionEvent::ClosedByServer, ConnectionEvent::ClosedByPeer].map(Body::Event);
        let closed = connection.frames.iter().find(|frame| ends.contains(&frame.body));
        let open_us = closed.map_or(end_us, |frame| frame.at_us).saturating_sub(response.at_us());
        let by_server = closed.is_some_and(|frame| frame.body == Body::Event(ConnectionEvent::ClosedByServer));
        if by_server || open_us > OPEN_US {
            let late = || format!("the stream is still open {} ms after the response", open_us / 1000);
            findings.check(response.seq(), if open_us > OPEN_US { Err(late()) } else { Ok(()) });
        }
    }
    findings.or_not_applicable("streams", "no response was on a stream")
}

fn unbuffered(transcript: &Transcript<'_>) -> CheckOutcome {
    let posts = modern_requests(transcript).filter(|one| one.request.frame.http.is_some());
    let streams = posts.filter_map(|one| transcript.reply(one.request.frame)).filter(|reply| is_stream(reply));
    let streams = streams.map(|reply| (reply.seq, header(reply, "x-accel-buffering")));
    let fault = |value: &Option<&str>| {
        let right = value.is_some_and(|value| value.eq_ignore_ascii_case("no"));
        (!right).then(|| format!("X-Accel-Buffering is {}", value.unwrap_or("missing")))
    };
    Findings::from_each(streams, fault).or_not_applicable("streams", "there was no stream of events")
}
