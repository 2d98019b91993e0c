//! Every check is seen to hold and seen to fail, against conversations written down by hand.

use std::{collections::BTreeMap, sync::Arc};

use evidence::{Body, ConnectionEvent, Direction, Frame, Http};
use serde_json::{Value, json};

use super::super::{
    for_subject,
    testing::{UNKNOWN, http_of_latest},
};
use crate::{
    evidence::{Evidence, ObservedProcess, Outcome, ProcessEvidence, StepError, StepOutcome},
    judge::{
        Transcript,
        check::{Check, CheckOutcome},
    },
    model::{Revision, Subject, Transport},
};

mod authorization;
mod behavior;
mod extension_tasks;
mod features;
mod lifecycle;
mod lists;
mod messages;
mod modern;
mod newest;
mod protocol;
mod sdks;
mod shapes;
mod streams;
mod tasks;
mod transports;

/// The id of a check, a conversation in which it must find its rule broken, and one in which it must find it held.
type Row = (&'static str, Talk, Talk);

/// A conversation that is being written down.
struct Talk(Evidence);

impl Talk {
    fn new(transport: Transport, revision: Revision) -> Self {
        Self(Evidence {
            profile: reports::model::Profile::Agent,
            ..Evidence::without_records("server/test", transport, revision)
        })
        .knows(&[revision], json!({}))
    }

    fn frame(mut self, direction: Direction, body: Body, http: Option<Http>) -> Self {
        let seq = self.0.frames.len() as u64;
        let asks = direction == Direction::ClientToServer;
        let last = self.0.frames.last().map_or(0, |frame| frame.connection);
        let connection = if asks && http.is_some() { last + 1 } else { last };
        let http = http.map(Arc::new);
        self.0.frames.push(Frame { seq, at_us: seq, server: "server".to_owned(), connection, direction, body, http });
        self
    }

    /// We say this.
    fn ask(self, message: Value) -> Self {
        let http = (self.0.transport == Transport::StreamableHttp).then(|| envelope("POST", &[]));
        self.frame(Direction::ClientToServer, Body::json(message), http)
    }

    /// We say this under these headers.
    fn post(self, headers: &[(&str, &str)], message: Value) -> Self {
        self.frame(Direction::ClientToServer, Body::json(message), Some(envelope("POST", headers)))
    }

    /// We make a request without a body.
    fn bodiless(self, method: &str, headers: &[(&str, &str)]) -> Self {
        self.frame(Direction::ClientToServer, Body::Event(ConnectionEvent::Bodiless), Some(envelope(method, headers)))
    }

    /// The server says this, over HTTP with 200.
    fn says(self, message: Value) -> Self {
        let http = (self.0.transport == Transport::StreamableHttp).then(|| status(200, "application/json"));
        self.frame(Direction::ServerToClient, Body::json(message), http)
    }

    /// The HTTP part of the latest frame.
    fn http(&mut self) -> &mut Http {
        http_of_latest(&mut self.0)
    }

    /// The server says this with a status.
    fn says_with(self, code: u16, message: Value) -> Self {
        self.frame(Direction::ServerToClient, Body::json(message), Some(status(code, "application/json")))
    }

    /// The server replies with a status and no body.
    fn replies(self, code: u16, kind: &str) -> Self {
        self.frame(Direction::ServerToClient, Body::Event(ConnectionEvent::Bodiless), Some(status(code, kind)))
    }

    /// One of the two writes something that is no JSON.
    fn text(self, direction: Direction, text: &str) -> Self {
        self.frame(direction, Body::Text(text.to_owned()), None)
    }

    /// A method is asked for with parameters, and answered with this result.
    fn result(self, method: &str, params: Value, result: Value) -> Self {
        let id = self.0.frames.len();
        self.ask(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .says(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
    }

    /// A method is asked for with parameters, and refused with this code.
    fn error(self, method: &str, params: Value, code: i64) -> Self {
        let id = self.0.frames.len();
        self.ask(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .says(json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": "no" } }))
    }

    fn knows(mut self, revisions: &[Revision], capabilities: Value) -> Self {
        let session = json!({ "visible_ascii": true });
        let value = json!({ "newest_revisions": revisions, "capabilities": capabilities, "session": session });
        self.0.steps = vec![outcome(None, value)];
        self
    }

    /// The handshake fails with an error of this kind.
    fn no_handshake(mut self, kind: &str) -> Self {
        let error = StepError { kind: kind.to_owned(), message: "no response".to_owned(), code: None, detail: None };
        self.0.steps.iter_mut().filter(|step| step.step.is_none()).for_each(|step| {
            step.outcome = Outcome::Error(error.clone());
        });
        self
    }

    fn step(mut self, value: Value) -> Self {
        self.0.steps.push(outcome(Some(0), value));
        self
    }

    fn process(mut self, process: ProcessEvidence) -> Self {
        self.0.process = Some(process);
        self
    }
}

fn all() -> impl Iterator<Item = &'static Check> {
    for_subject(Subject::Server)
}

fn run(check: &Check, evidence: &Evidence) -> CheckOutcome {
    check.run(&Transcript::new(evidence, &UNKNOWN))
}

fn outcome_of(id: &str, talk: &Talk) -> CheckOutcome {
    run(all().find(|check| check.id == id).expect("a check"), &talk.0)
}

fn fails(id: &str, talk: &Talk) -> bool {
    matches!(outcome_of(id, talk), CheckOutcome::Failed { .. })
}

fn outcome(step: Option<usize>, value: Value) -> StepOutcome {
    StepOutcome { step, server: None, began_us: 0, ended_us: 1, outcome: Outcome::Value(value) }
}

fn envelope(method: &str, headers: &[(&str, &str)]) -> Http {
    let mut all: BTreeMap<String, String> = BTreeMap::from([("host".to_owned(), "127.0.0.1:80".to_owned())]);
    all.extend(headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    Http { method: Some(method.to_owned()), path: Some("/mcp".to_owned()), headers: Arc::new(all), ..Http::default() }
}

fn status(code: u16, kind: &str) -> Http {
    let headers = BTreeMap::from([("content-type".to_owned(), kind.to_owned())]);
    Http { status: Some(code), headers: Arc::new(headers), ..Http::default() }
}

fn stdio() -> Talk {
    Talk::new(Transport::Stdio, Revision::V2025_11_25)
}

fn http() -> Talk {
    Talk::new(Transport::StreamableHttp, Revision::V2025_11_25)
}

fn modern() -> Talk {
    Talk::new(Transport::Stdio, Revision::V2026_07_28)
}

fn modern_http() -> Talk {
    Talk::new(Transport::StreamableHttp, Revision::V2026_07_28)
}

fn call(method: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method })
}

/// The parameters of a request in 2026-07-28.
fn meta() -> Value {
    meta_of("2026-07-28")
}

fn meta_of(revision: &str) -> Value {
    json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": revision } })
}

fn good(fields: Value) -> Value {
    let mut result = json!({ "resultType": "complete", "ttlMs": 0, "cacheScope": "public",
        "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "s", "version": "1" } } });
    for (name, value) in fields.as_object().into_iter().flatten() {
        result[name] = value.clone();
    }
    result
}

fn tools(list: Value) -> Talk {
    stdio().result("tools/list", json!({}), json!({ "tools": list }))
}

fn page(talk: Talk, params: Value, names: &[&str], next: Value) -> Talk {
    let tools: Vec<Value> = names.iter().map(|name| json!({ "name": name })).collect();
    let mut result = json!({ "tools": tools });
    if !next.is_null() {
        result["nextCursor"] = next;
    }
    talk.result("tools/list", params, result)
}

fn initialized(talk: Talk, result: Value) -> Talk {
    talk.result("initialize", json!({ "protocolVersion": "2025-11-25" }), result)
}

fn greeting() -> Value {
    json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} }, "serverInfo": { "name": "s", "version": "1" } })
}

fn listing(method: &str, key: &str, items: Value) -> Talk {
    stdio().result(method, json!({}), json!({ key: items }))
}

fn listen(talk: Talk) -> Talk {
    talk.ask(json!({ "jsonrpc": "2.0", "id": 5, "method": "subscriptions/listen", "params": meta() }))
}

fn on_subscription(method: &str) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": { "_meta": { "io.modelcontextprotocol/subscriptionId": 5 } } })
}

fn discover_with(headers: &[(&str, &str)], params: Value) -> Talk {
    modern_http().post(headers, json!({ "jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": params }))
}

fn refusal(code: i64, data: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": code, "message": "no", "data": data } })
}

fn session() -> [(&'static str, &'static str); 1] {
    [("mcp-session-id", "[session]")]
}

/// The rows of all themes.
fn table() -> Vec<Row> {
    let themes = [
        authorization::table(),
        behavior::table(),
        extension_tasks::table(),
        features::table(),
        lifecycle::table(),
        lists::table(),
        messages::table(),
        modern::table(),
        newest::table(),
        shapes::table(),
        protocol::table(),
        streams::table(),
        tasks::table(),
        transports::table(),
    ];
    themes.into_iter().flatten().collect()
}

impl Talk {
    fn close(self) -> Self {
        self.frame(Direction::ClientToServer, Body::Event(ConnectionEvent::ClosedByPeer), None)
    }
}

#[test]
fn every_check_is_seen_to_fail_and_to_hold() {
    let table = table();
    let mut wrong = Vec::new();
    for check in all().filter(|check| table.iter().all(|(id, ..)| *id != check.id)) {
        wrong.push(format!("{}: not in the table", check.id));
    }
    for (id, broken, held) in &table {
        let check = all().find(|check| check.id == *id).unwrap_or_else(|| panic!("{id} is no check"));
        match run(check, &broken.0) {
            CheckOutcome::Failed { .. } => {}
            other => wrong.push(format!("{id}: should be broken: {other:?}")),
        }
        match run(check, &held.0) {
            CheckOutcome::Passed { .. } => {}
            other => wrong.push(format!("{id}: should be held: {other:?}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_check_fails_where_there_is_nothing_to_judge() {
    for revision in Revision::ALL {
        for transport in Transport::ALL {
            let empty = Talk::new(transport, revision).0;
            for check in all() {
                let ruling = run(check, &empty);
                assert!(!matches!(ruling, CheckOutcome::Failed { .. }), "{} in {revision}: {ruling:?}", check.id);
            }
        }
    }
}

#[test]
fn a_server_of_both_eras_may_take_a_bare_request_for_one_of_the_older() {
    let both = [Revision::V2025_11_25, Revision::V2026_07_28];
    let talk = modern().error("server/discover", json!({}), -32601).knows(&both, json!({}));
    let check = all().find(|check| check.id == "missing-metadata-is-refused").expect("it is there");
    assert!(matches!(run(check, &talk.0), CheckOutcome::Passed { .. }));
}

#[test]
fn a_server_of_both_eras_may_route_by_the_header_but_not_answer_a_contradiction() {
    let both = [Revision::V2025_11_25, Revision::V2026_07_28];
    let check = all().find(|check| check.id == "http-header-mismatch-is-refused").expect("it is there");
    let older = [("mcp-protocol-version", "2025-11-25"), ("mcp-method", "server/discover")];
    let refused = json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32600, "message": "no session" } });
    let routed = discover_with(&older, meta()).says_with(400, refused).knows(&both, json!({}));
    assert!(matches!(run(check, &routed.0), CheckOutcome::NotApplicable(_)));
    let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": {} });
    let answered = discover_with(&older, meta()).says_with(200, answer).knows(&both, json!({}));
    assert!(matches!(run(check, &answered.0), CheckOutcome::Failed { .. }));
}

#[test]
fn what_an_older_revision_does_not_ask_for_is_not_judged() {
    let check = all().find(|check| check.id == "http-unknown-method-is-404").expect("it is there");
    let talk = http().ask(call("workbench/no-such-method")).says(refusal(-32601, json!(null)));
    assert!(matches!(run(check, &talk.0), CheckOutcome::NotApplicable(_)));
}
