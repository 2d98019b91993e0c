//! Waits for responses and notifications. A server that ignores some requests is not waited for each time.

use std::{sync::atomic::Ordering, time::Duration};

use evidence::Direction;
use serde_json::Value;

use super::{
    CALL_MARGIN, MARGIN, Outgoing, Peer, PeerTransport, SHORTEST, Sent, dead_end, failure, lock, rpc_error,
    transcript::{State, same_id, same_text},
};
use crate::{evidence::StepError, shapes::Shapes};

/// Timeout of a response to a request like one that had no response before.
const UNANSWERED: Duration = Duration::from_millis(200);
/// After waits of this time in which nothing arrived, the server probably never sends anything again.
const IN_VAIN: Duration = Duration::from_secs(20);
/// A server that did not respond to so many kinds of requests probably ignores others too.
const MANY_UNANSWERED: usize = 3;
/// The requests with which a connection begins.
const HANDSHAKES: [&str; 2] = ["initialize", "server/discover"];

impl Peer {
    /// Waits for the response to a request.
    pub(crate) async fn response(&self, sent: &Sent, within: Duration) -> Result<Value, StepError> {
        self.response_or_nameless(sent, within, |_| false).await
    }

    /// The same, only briefly if no other request is open and an error without an id is probably for this one.
    pub(crate) async fn response_or_error(&self, sent: &Sent, within: Duration) -> Result<Value, StepError> {
        self.response_or_nameless(sent, within, self.is_only_nameless(sent)).await
    }

    /// Waits for the responses to concurrent requests, of which errors without an id may be some.
    pub(crate) async fn responses(&self, sent: &[Sent], within: Duration) -> Result<Vec<Value>, StepError> {
        let sent: Vec<Sent> = sent
            .iter()
            .enumerate()
            .map(|(position, one)| {
                let mut others = sent.iter().enumerate().filter(|(other, _)| *other != position);
                Sent { shares_id: others.any(|(_, other)| other.id == one.id), ..one.clone() }
            })
            .collect();
        let missing = |state: &State| sent.iter().filter(|sent| find_response(state, sent).is_none()).count();
        let is_nameless = |state: &State| {
            let nameless = sent.first().map_or(0, |first| nameless_errors(state, first).count());
            nameless > 0 && nameless >= missing(state)
        };
        let mut responses = Vec::new();
        for sent in &sent {
            responses.push(self.response_or_nameless(sent, within, is_nameless).await?);
        }
        Ok(responses)
    }

    /// Waits for the response to a request, only briefly if an error without an id is probably for it.
    pub(super) async fn response_or_nameless(
        &self,
        sent: &Sent,
        within: Duration,
        is_nameless: impl Fn(&State) -> bool,
    ) -> Result<Value, StepError> {
        let within = self.response_wait(sent, within);
        let began_us = self.now_us();
        let found = self.found_or_nameless(within, is_nameless, |state| find_response(state, sent)).await;
        if let PeerTransport::Stdio(connection) = &self.transport {
            connection.observe().await;
        }
        if let Some(Ok(_)) = found {
            self.note_time(sent);
        }
        self.note_wait(sent, began_us, found.is_some());
        let is_late = found.is_none() && !has_nameless_error(&self.recorder.lock(), sent);
        self.slow_calls.note(sent, is_late);
        if found.is_none() {
            self.note_unanswered(sent, within);
        }
        found.unwrap_or_else(|| Err(timed_out("response", within)))
    }

    /// Waits for what `find` finds, only briefly once an error without an id is probably the response.
    async fn found_or_nameless<T>(
        &self,
        within: Duration,
        is_nameless: impl Fn(&State) -> bool,
        find: impl Fn(&State) -> Option<T>,
    ) -> Option<T> {
        let first = |state: &State| find(state).map(Some).or_else(|| is_nameless(state).then_some(None));
        let found = if within < SHORTEST {
            self.recorder.wait(within, first).await
        } else {
            self.while_working(within, None, self.recorder.search(first)).await.flatten()
        };
        match found {
            Some(None) => self.recorder.wait(UNANSWERED * self.leniency, find).await,
            found => found.flatten(),
        }
    }

    /// Whether an error without an id that arrived after the request is probably for it, as no other request is open.
    pub(super) fn is_only_nameless<'s>(&self, sent: &'s Sent) -> impl Fn(&State) -> bool + use<'s> {
        let is_answered = |late: &Sent| has_nameless_error(&self.recorder.lock(), late);
        let only = self.slow_calls.has_none_but(is_answered);
        move |state| only && has_nameless_error(state, sent)
    }

    /// Notes how long the server took to respond. The first response of a process without a handshake comes after its start.
    fn note_time(&self, sent: &Sent) {
        let is_process = matches!(self.transport, PeerTransport::Stdio(_));
        let is_start = is_process && self.revision.is_modern() && self.is_starting();
        let part = if sent.method == "tools/call" { u64::from(MARGIN / CALL_MARGIN) } else { 1 };
        let elapsed_us = if is_start { 1 } else { (self.now_us() - sent.at_us) / part };
        self.slowest_us.fetch_max(elapsed_us, Ordering::Relaxed);
    }

    /// Notes that a request had no response in this time, unless it was too short to tell.
    fn note_unanswered(&self, sent: &Sent, within: Duration) {
        if let Some(kind) = sent.kind.as_ref().filter(|_| within >= SHORTEST) {
            lock(&self.unanswered).insert(kind.clone());
        }
    }

    /// Whether the server may not have read the first request after the handshake yet.
    fn is_starting(&self) -> bool {
        self.slowest_us.load(Ordering::Relaxed) == 0 && lock(&self.unanswered).is_empty()
    }

    /// Waits for any response, even one without the id, as no other request is open.
    pub(super) async fn only_response(&self, sent: &Sent, within: Duration) -> Result<Value, StepError> {
        let any = |state: &State| {
            let mut received = state.received_since(sent.since);
            let response = received.find(|message| message.get("result").is_some() || message.get("error").is_some());
            response.map(|response| Ok(response.clone())).or_else(|| dead_end(state, sent))
        };
        let found = self.recorder.wait(within, any).await;
        found.unwrap_or_else(|| Err(timed_out("response", within)))
    }

    /// Waits for a notification after a request.
    pub(crate) async fn notification(&self, sent: &Sent, method: &str, within: Duration) -> Result<Value, StepError> {
        let within = self.response_wait(sent, within);
        let is_nameless = self.is_only_nameless(sent);
        let found = self.found_or_nameless(within, is_nameless, |state| find_notification(state, sent, method)).await;
        if found.is_none() {
            self.note_unanswered(sent, within);
        }
        found.unwrap_or_else(|| Err(timed_out(method, within)))
    }

    /// Notes the time of a wait since `began_us`, if nothing arrived.
    pub(super) fn note_wait(&self, sent: &Sent, began_us: u64, is_over: bool) {
        if is_over || self.recorder.received() > sent.since {
            self.in_vain_us.store(0, Ordering::Relaxed);
        } else {
            self.in_vain_us.fetch_add(self.now_us() - began_us, Ordering::Relaxed);
        }
    }

    /// How long to wait for anything from a server that has long sent nothing.
    pub(super) fn unless_in_vain(&self, within: Duration) -> Duration {
        let in_vain = Duration::from_micros(self.in_vain_us.load(Ordering::Relaxed));
        if in_vain < IN_VAIN * self.leniency { within } else { within.min(UNANSWERED * self.leniency) }
    }

    /// How long to wait for a response. Otherwise a server that does not respond takes minutes.
    fn response_wait(&self, sent: &Sent, within: Duration) -> Duration {
        let (is_known, number) = {
            let unanswered = lock(&self.unanswered);
            (sent.kind.as_ref().is_some_and(|kind| unanswered.contains(kind)), unanswered.len())
        };
        let within = match () {
            () if is_known => within.min(UNANSWERED * self.leniency),
            () if self.is_starting() => within.max(self.startup),
            () if number >= MANY_UNANSWERED => within.min(SHORTEST * self.leniency),
            () => within,
        };
        self.unless_in_vain(within)
    }

    /// Notes the tools that the server lists.
    pub(crate) fn note_listed(&mut self, tools: &[Value]) {
        let names = tools.iter().filter_map(|tool| tool.get("name")?.as_str());
        self.listed.extend(names.map(str::to_owned));
    }

    /// How long to wait for a reply to raw text.
    pub(super) fn raw_wait(&self, text: &str, within: Duration) -> Duration {
        let parts = serde_json::from_str(text).ok().and_then(|message: Value| {
            let method = message.get("method")?.as_str()?.to_owned();
            Some((method, message.get("params").and_then(Value::as_object).cloned()))
        });
        let kind = parts.and_then(|(method, params)| self.kind_of(&Outgoing { method, params, ..Outgoing::default() }));
        match kind {
            Some(kind) if lock(&self.unanswered).contains(&kind) => within.min(UNANSWERED * self.leniency),
            // The response to a handshake comes after the start of the server.
            Some(kind) if self.received() == 0 && HANDSHAKES.contains(&kind.as_str()) => within.max(self.startup),
            _ => within,
        }
    }

    /// What a server that ignores the request probably ignores too: requests of the same method, of any unknown method, or calls
    /// of any unknown tool. `None` for a call of a listed tool, as each takes its own time.
    pub(super) fn kind_of(&self, request: &Outgoing) -> Option<String> {
        if !Shapes::in_revision(self.revision).has_method(&request.method, Direction::ClientToServer) {
            return Some("unknown method".to_owned());
        }
        if request.method != "tools/call" {
            return Some(request.method.clone());
        }
        let name = request.params.as_ref().and_then(|params| params.get("name")?.as_str());
        let is_listed = name.is_some_and(|name| self.listed.contains(name));
        (!is_listed).then(|| "unknown tool".to_owned())
    }
}

fn timed_out(what: &str, within: Duration) -> StepError {
    failure("timed-out", format!("no {what} within {} ms", within.as_millis()))
}

pub(super) fn find_response(state: &State, sent: &Sent) -> Option<Result<Value, StepError>> {
    let own = sent.exchange.filter(|_| sent.shares_id);
    let with_id = |same: fn(&Value, &Value) -> bool| {
        let received = state.received_on(sent.since).filter(|(on, _)| own.is_none_or(|own| own == *on));
        received
            .map(|(_, message)| message)
            .find(|message| message.get("method").is_none() && message.get("id").is_some_and(|id| same(id, &sent.id)))
    };
    // A check reports an id of the wrong type; the run goes on with the response.
    match with_id(same_id).or_else(|| with_id(same_text)) {
        Some(response) => Some(Ok(response.clone())),
        None => dead_end(state, sent),
    }
}

/// Whether an error without an id arrived after the request.
pub(super) fn has_nameless_error(state: &State, sent: &Sent) -> bool {
    nameless_errors(state, sent).next().is_some()
}

/// The errors without an id that arrived after the request.
fn nameless_errors<'s>(state: &'s State, sent: &Sent) -> impl Iterator<Item = &'s Value> {
    let is_nameless = |message: &&Value| message.get("error").is_some() && message.get("id").is_none_or(Value::is_null);
    state.received_since(sent.since).filter(is_nameless)
}

fn find_notification(state: &State, sent: &Sent, method: &str) -> Option<Result<Value, StepError>> {
    let wanted = |message: &&Value| message.get("id").is_none() && message["method"] == method;
    if let Some(found) = state.received_since(sent.since).find(wanted) {
        return Some(Ok(found.get("params").cloned().unwrap_or(Value::Null)));
    }
    match find_response(state, sent) {
        Some(Ok(response)) => Some(Err(rpc_error(&response)
            .unwrap_or_else(|| failure("closed", format!("the response arrived before a `{method}`"))))),
        other => other,
    }
}
