//! Every fault, and what a client of each front is to do to see it: one row a fault, and no fault without a row.

use serde_json::{Value, json};

/// How messages travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Front {
    /// Streamable HTTP.
    Http,
    /// Standard input and output of a process.
    Stdio,
    /// HTTP+SSE of 2024-11-05.
    Sse,
}

/// What a client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Talk {
    /// It calls the tool twice, the second time after the first answer.
    Calls,
    /// It calls the tool once.
    Call,
    /// It calls the tool, twice, the second time before the first answer.
    Overtaken,
    /// It calls the tool, to which nothing is answered where it listens, and goes on with a ping.
    Unanswered,
    /// It opens the stream of the server's own messages, and hears its end.
    Get,
    /// It opens that stream, and hears that it is open.
    Opened,
    /// It calls the tool, sends SIGTERM and goes on with a ping.
    Terminated,
}

/// What a fault does over one front.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// It is seen in this talk.
    Seen(Talk),
    /// Nothing, and why.
    Nothing(&'static str),
}

use Effect::{Nothing, Seen};
use Talk::{Call, Calls, Get, Opened, Overtaken, Terminated, Unanswered};

/// One fault.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) fault: Value,
    http: Effect,
    stdio: Effect,
    sse: Effect,
    /// Whether a notification goes before the answer, so that the answer is an event over Streamable HTTP too.
    pub(super) streamed: bool,
    /// The fronts over which its bytes are drawn.
    pub(super) drawn: &'static [Front],
}

impl Row {
    /// The name of the fault.
    pub(super) fn name(&self) -> &str {
        let tagged = || self.fault.as_object().and_then(|fault| fault.keys().next()).map(String::as_str);
        self.fault.as_str().or_else(tagged).unwrap()
    }

    pub(super) fn effect(&self, front: Front) -> Effect {
        match front {
            Front::Http => self.http,
            Front::Stdio => self.stdio,
            Front::Sse => self.sse,
        }
    }

    fn streamed(mut self) -> Self {
        self.streamed = true;
        self
    }

    fn drawn(mut self, fronts: &'static [Front]) -> Self {
        self.drawn = fronts;
        self
    }
}

/// A fault that is seen in this talk over every front.
fn all(fault: impl Into<Value>, talk: Talk) -> Row {
    row(fault, Seen(talk), Seen(talk), Seen(talk))
}

fn row(fault: impl Into<Value>, http: Effect, stdio: Effect, sse: Effect) -> Row {
    Row { fault: fault.into(), http, stdio, sse, streamed: false, drawn: &[] }
}

const EVERYWHERE: &[Front] = &[Front::Http, Front::Stdio, Front::Sse];
const OWNER: Effect = Nothing("the process of a server that listens is its owner's");
const NO_EVENTS: Effect = Nothing("there are no events over stdio");
const NO_TYPE: Effect = Nothing("there is no content type over stdio");
const NO_IDS: Effect = Nothing("events have no ids before 2025-03-26");

/// All of them.
pub(super) fn rows() -> Vec<Row> {
    [timing(), content(), ends(), envelopes(), ids(), bytes(), framing()].concat()
}

fn timing() -> Vec<Row> {
    vec![
        all("silence", Unanswered),
        all(json!({"delay": "2ms"}), Calls),
        // What it draws is time and no bytes; `latency.rs` shows that.
        all(json!({"latency": {"from": "1ms", "to": "5ms"}}), Calls),
        all(json!({"late-reply": "2ms"}), Calls),
        all(json!({"reorder": {"within": "10s"}}), Overtaken),
    ]
}

fn content() -> Vec<Row> {
    vec![
        all(json!({"garbage": "<{{id}}>"}), Calls),
        all(json!({"log-lines": {"count": 2, "text": "WARN"}}), Calls),
        row(json!({"stderr-flood": {"bytes": 100_000}}), OWNER, Seen(Calls), OWNER),
        all(json!({"notification-flood": {"count": 20}}), Calls),
    ]
}

fn ends() -> Vec<Row> {
    vec![
        all("close", Call),
        all(json!({"disconnect": {"moment": "amid"}}), Call),
        all(json!({"exit": {"code": 3}}), Call),
        row("ignore-sigterm", OWNER, Seen(Terminated), OWNER),
        row(json!({"grandchild": {"setsid": true}}), OWNER, Seen(Calls), OWNER),
        all(json!({"truncate": 9}), Call),
        row(json!({"stream-error": {"after": "2ms"}}), Seen(Get), Seen(Call), Seen(Get)),
    ]
}

fn envelopes() -> Vec<Row> {
    let answered = |fault: Value| row(fault, Seen(Calls), Seen(Unanswered), Seen(Unanswered));
    vec![
        answered(json!({"http-status": {"status": 503, "headers": {"X-A": "b"}, "body": "no"}})),
        answered(json!({"retry-after": {"value": "3"}})),
        answered(json!({"redirect": {"to": {"same-origin": "/mcp"}}})),
        answered("session-expiry".into()),
        row(json!({"wrong-content-type": "text/html"}), Seen(Calls), NO_TYPE, Seen(Opened)),
    ]
}

fn ids() -> Vec<Row> {
    vec![
        all("wrong-id", Calls).drawn(EVERYWHERE),
        all("null-id", Calls),
        all("float-id", Calls),
        all("string-id", Calls),
        all("unknown-fields", Calls).drawn(EVERYWHERE),
        all("both-result-and-error", Calls),
        all("neither-result-nor-error", Calls),
        all("duplicate", Calls),
    ]
}

fn bytes() -> Vec<Row> {
    vec![
        all(json!({"deep-nesting": 200}), Calls),
        all(json!({"oversize": 100_000}), Calls),
        all("byte-order-mark", Calls),
        all(json!({"invalid-utf8": {}}), Calls).drawn(EVERYWHERE),
        all(json!({"malformed-json": {}}), Calls).drawn(EVERYWHERE),
    ]
}

fn framing() -> Vec<Row> {
    vec![
        // Over stdio where it is cut is seen in time alone.
        all(json!({"fragment": {"cut": {"random": 3}, "pause": "1ms"}}), Calls)
            .streamed()
            .drawn(&[Front::Http, Front::Sse]),
        all(json!({"coalesce": {"messages": 3}}), Calls).streamed(),
        all(json!({"slow-drip": {"bytes": 20, "every": "1ms"}}), Calls).streamed(),
        all(json!({"line-ends": "crlf"}), Calls).streamed(),
        row("no-event-id", Seen(Calls), NO_EVENTS, NO_IDS).streamed(),
        row(json!({"bad-retry": "soon"}), Seen(Calls), NO_EVENTS, Seen(Calls)).streamed(),
    ]
}

#[test]
fn every_fault_has_one_row() {
    let mut rows: Vec<String> = rows().iter().map(|row| row.name().to_owned()).collect();
    let mut names = crate::names();
    rows.sort();
    names.sort();
    assert_eq!(rows, names);
}
