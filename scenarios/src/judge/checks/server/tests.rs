//! Every check is seen to hold and seen to fail, against conversations written down by hand.

use std::collections::BTreeMap;

use evidence::{Body, ConnectionEvent, Direction, Frame, Http};
use serde_json::{Value, json};

use super::super::{for_subject, testing::UNKNOWN};
use crate::{
    evidence::{Evidence, ObservedProcess, Outcome, ProcessEvidence, StepOutcome},
    judge::{
        Transcript,
        check::{Check, CheckOutcome},
    },
    model::{Revision, Subject, Transport},
};

/// A conversation that is being written down.
struct Talk(Evidence);

impl Talk {
    fn new(transport: Transport, revision: Revision) -> Self {
        Self(Evidence {
            scenario: "server/test".to_owned(),
            transport,
            revision,
            frames: vec![],
            steps: vec![],
            events: vec![],
            process: None,
            stderr: String::new(),
            timed_out: false,
            omitted_frames: 0,
            broken: None,
            elapsed_us: 0,
        })
        .knows(&[revision], json!({}))
    }

    fn frame(mut self, direction: Direction, body: Body, http: Option<Http>) -> Self {
        let seq = self.0.frames.len() as u64;
        let asks = direction == Direction::ClientToServer;
        let last = self.0.frames.last().map_or(0, |frame| frame.connection);
        let connection = if asks && http.is_some() { last + 1 } else { last };
        self.0.frames.push(Frame { seq, at_us: seq, server: "server".to_owned(), connection, direction, body, http });
        self
    }

    /// We say this.
    fn ask(self, message: Value) -> Self {
        let http = (self.0.transport == Transport::StreamableHttp).then(|| envelope("POST", &[]));
        self.frame(Direction::ClientToServer, Body::Json(message), http)
    }

    /// We say this under these headers.
    fn post(self, headers: &[(&str, &str)], message: Value) -> Self {
        self.frame(Direction::ClientToServer, Body::Json(message), Some(envelope("POST", headers)))
    }

    /// We make a request without a body.
    fn bodiless(self, method: &str, headers: &[(&str, &str)]) -> Self {
        self.frame(Direction::ClientToServer, Body::Event(ConnectionEvent::Bodiless), Some(envelope(method, headers)))
    }

    /// The server says this, over HTTP with 200.
    fn says(self, message: Value) -> Self {
        let http = (self.0.transport == Transport::StreamableHttp).then(|| status(200, "application/json"));
        self.frame(Direction::ServerToClient, Body::Json(message), http)
    }

    /// The server says this with a status.
    fn says_with(self, code: u16, message: Value) -> Self {
        self.frame(Direction::ServerToClient, Body::Json(message), Some(status(code, "application/json")))
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
        let value =
            json!({ "revisions": revisions, "capabilities": capabilities, "session": { "visible_ascii": true } });
        self.0.steps = vec![outcome(None, value)];
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

fn outcome(step: Option<usize>, value: Value) -> StepOutcome {
    StepOutcome { step, server: None, began_us: 0, ended_us: 1, outcome: Outcome::Value(value) }
}

fn envelope(method: &str, headers: &[(&str, &str)]) -> Http {
    let mut all: BTreeMap<String, String> = BTreeMap::from([("host".to_owned(), "127.0.0.1:80".to_owned())]);
    all.extend(headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    Http { method: Some(method.to_owned()), path: Some("/mcp".to_owned()), headers: all, ..Http::default() }
}

fn status(code: u16, kind: &str) -> Http {
    let headers = BTreeMap::from([("content-type".to_owned(), kind.to_owned())]);
    Http { status: Some(code), headers, ..Http::default() }
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

fn read(contents: Value) -> Talk {
    stdio().result("resources/read", json!({ "uri": "a:1" }), json!({ "contents": contents }))
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

/// A conversation in which the check must find its rule broken, and one in which it must find it held.
fn table() -> Vec<(&'static str, Talk, Talk)> {
    [messages(), lifecycle(), features(), lists(), transports(), newest()].into_iter().flatten().collect()
}

fn messages() -> Vec<(&'static str, Talk, Talk)> {
    let ok = || stdio().result("ping", json!({}), json!({}));
    let unknown = "workbench/no-such-method";
    let strange = json!({ "jsonrpc": "2.0", "method": "notifications/strange" });
    let broken_json = || stdio().text(Direction::ClientToServer, "{").says(refusal(-32700, json!(null)));
    vec![
        ("jsonrpc-version", stdio().ask(call("ping")).says(json!({ "id": 1, "result": {} })), ok()),
        (
            "response-is-result-or-error",
            stdio().ask(call("ping")).says(json!({ "jsonrpc": "2.0", "id": 1, "result": {}, "error": {} })),
            ok(),
        ),
        ("result-is-an-object", stdio().result("ping", json!({}), json!("pong")), ok()),
        (
            "error-has-code-and-message",
            stdio()
                .ask(call("x"))
                .says(json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": "-32601", "message": "no" } })),
            stdio().error("x", json!({}), -32601),
        ),
        (
            "response-has-the-id-of-a-request",
            stdio().ask(call("ping")).says(json!({ "jsonrpc": "2.0", "id": "1", "result": {} })),
            ok(),
        ),
        (
            "request-answered-once",
            stdio().result("ping", json!({}), json!({})).says(json!({ "jsonrpc": "2.0", "id": 0, "result": {} })),
            ok(),
        ),
        (
            "no-response-to-notification",
            stdio()
                .ask(strange.clone())
                .says(json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32601, "message": "no" } })),
            stdio().ask(strange.clone()),
        ),
        (
            "server-asks-only-what-was-declared",
            ok().says(json!({ "jsonrpc": "2.0", "id": 9, "method": "roots/list" })),
            ok().says(json!({ "jsonrpc": "2.0", "id": 9, "method": "ping" })),
        ),
        (
            "no-request-before-initialized",
            stdio()
                .says(json!({ "jsonrpc": "2.0", "id": 9, "method": "roots/list" }))
                .ask(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })),
            stdio()
                .says(json!({ "jsonrpc": "2.0", "id": 9, "method": "ping" }))
                .ask(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })),
        ),
        // A notification in between is no reply.
        (
            "requests-are-answered",
            stdio()
                .ask(call("ping"))
                .says(json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": {} })),
            ok(),
        ),
        (
            "unknown-method-is-refused",
            stdio().result(unknown, json!({}), json!({})),
            stdio().error(unknown, json!({}), -32601),
        ),
        ("unknown-method-code", stdio().error(unknown, json!({}), -32602), stdio().error(unknown, json!({}), -32601)),
        (
            "survives-broken-json",
            stdio().text(Direction::ClientToServer, "{").ask(call("ping")),
            stdio().text(Direction::ClientToServer, "{").result("ping", json!({}), json!({})),
        ),
        (
            "broken-json-code",
            stdio().text(Direction::ClientToServer, "{").says(refusal(-32603, json!(null))),
            broken_json(),
        ),
        (
            "survives-unknown-notification",
            stdio().ask(strange.clone()).ask(call("ping")),
            stdio().ask(strange).result("ping", json!({}), json!({})),
        ),
    ]
}

fn lifecycle() -> Vec<(&'static str, Talk, Talk)> {
    let old = |version: &str| {
        stdio().result("initialize", json!({ "protocolVersion": "1999-01-01" }), json!({ "protocolVersion": version }))
    };
    let offers = |declared: Value| {
        stdio()
            .result("tools/list", json!({}), json!({ "tools": [{ "name": "a" }] }))
            .knows(&[Revision::V2025_11_25], declared)
    };
    let without_name = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": { "version": "1" } });
    let strange =
        json!({ "protocolVersion": "3.0", "capabilities": {}, "serverInfo": { "name": "s", "version": "1" } });
    let flag = json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": { "listChanged": "yes" } } });
    vec![
        ("initialize-result", initialized(stdio(), without_name), initialized(stdio(), greeting())),
        ("capabilities-shape", initialized(stdio(), flag), initialized(stdio(), greeting())),
        ("negotiated-revision-exists", initialized(stdio(), strange), initialized(stdio(), greeting())),
        ("unknown-revision-is-negotiated", old("1999-01-01"), old("2025-06-18")),
        (
            "ping-is-answered-empty",
            stdio().result("ping", json!({}), json!({ "pong": true })),
            stdio().result("ping", json!({}), json!({})),
        ),
        ("offers-only-what-is-declared", offers(json!({})), offers(json!({ "tools": {} }))),
    ]
}

fn features() -> Vec<(&'static str, Talk, Talk)> {
    let tool = |schema: Value| tools(json!([{ "name": "a", "inputSchema": schema }]));
    let call = json!({ "name": "workbench-no-such-tool", "arguments": {} });
    let resource = |item: Value| listing("resources/list", "resources", json!([item]));
    let template = |item: Value| listing("resources/templates/list", "resourceTemplates", json!([item]));
    let prompt = |item: Value| listing("prompts/list", "prompts", json!([item]));
    let gone = json!({ "uri": "workbench-test://no-such-resource" });
    let no_prompt = json!({ "name": "workbench-no-such-prompt" });
    let no_level = json!({ "level": "workbench-no-such-level" });
    let complete = json!({ "ref": { "type": "ref/prompt", "name": "workbench-no-such-prompt" } });
    let twice = |second: &[&str]| {
        let first = page(modern(), json!({}), &["a", "b"], Value::Null);
        page(first, json!({}), second, Value::Null)
    };
    vec![
        ("tool-shape", tools(json!([{ "name": 7 }])), tool(json!({ "type": "object" }))),
        ("tool-input-schema-is-of-an-object", tool(json!({ "type": "array" })), tool(json!({ "type": "object" }))),
        (
            "tool-schemas-are-valid",
            tool(json!({ "type": "object", "required": "a" })),
            tool(json!({ "type": "object", "required": ["a"] })),
        ),
        (
            "tool-names-are-unique",
            tools(json!([{ "name": "a" }, { "name": "a" }])),
            tools(json!([{ "name": "a" }, { "name": "A" }])),
        ),
        ("tool-names-are-plain", tools(json!([{ "name": "a b" }])), tools(json!([{ "name": "a_B-3.c" }]))),
        (
            "tool-annotations",
            tools(json!([{ "name": "a", "annotations": { "readOnlyHint": "yes" } }])),
            tools(json!([{ "name": "a", "annotations": { "readOnlyHint": true } }])),
        ),
        ("tools-in-the-same-order", twice(&["b", "a"]), twice(&["a", "b"])),
        (
            "unknown-tool-is-refused",
            stdio().result("tools/call", call.clone(), json!({ "content": [] })),
            stdio().result("tools/call", call.clone(), json!({ "content": [], "isError": true })),
        ),
        (
            "unknown-tool-is-a-protocol-error",
            stdio().result("tools/call", call.clone(), json!({ "content": [], "isError": true })),
            stdio().error("tools/call", call, -32602),
        ),
        ("resource-shape", resource(json!({ "uri": "a:1" })), resource(json!({ "uri": "a:1", "name": "one" }))),
        (
            "resource-uri-is-a-uri",
            resource(json!({ "uri": "/etc/hosts", "name": "one" })),
            resource(json!({ "uri": "a:1", "name": "one" })),
        ),
        (
            "resource-template-shape",
            template(json!({ "name": "t" })),
            template(json!({ "name": "t", "uriTemplate": "a:{x}" })),
        ),
        (
            "resource-contents",
            read(json!([{ "uri": "a:1", "text": "t", "blob": "" }])),
            read(json!([{ "uri": "a:1", "text": "" }])),
        ),
        (
            "resource-blob-is-base64",
            read(json!([{ "uri": "a:1", "blob": "not base64!" }])),
            read(json!([{ "uri": "a:1", "blob": "aGk=" }])),
        ),
        (
            "unknown-resource-code",
            stdio().error("resources/read", gone.clone(), 0),
            stdio().error("resources/read", gone.clone(), -32002),
        ),
        (
            "unknown-resource-is-refused",
            modern().result("resources/read", gone.clone(), json!({ "contents": [] })),
            modern().error("resources/read", gone, -32602),
        ),
        (
            "prompt-shape",
            prompt(json!({ "name": "p", "arguments": [{}] })),
            prompt(json!({ "name": "p", "arguments": [{ "name": "a" }] })),
        ),
        (
            "unknown-prompt-code",
            stdio().error("prompts/get", no_prompt.clone(), 0),
            stdio().error("prompts/get", no_prompt, -32602),
        ),
        (
            "missing-prompt-argument-code",
            stdio().result("prompts/get", json!({ "name": "p" }), json!({ "messages": [] })),
            stdio().error("prompts/get", json!({ "name": "p" }), -32602),
        ),
        (
            "invalid-log-level-code",
            stdio().result("logging/setLevel", no_level.clone(), json!({})),
            stdio().error("logging/setLevel", no_level, -32602),
        ),
        (
            "completion-of-unknown-prompt-code",
            stdio().result("completion/complete", complete.clone(), json!({})),
            stdio().error("completion/complete", complete, -32602),
        ),
    ]
}

fn lists() -> Vec<(&'static str, Talk, Talk)> {
    let first = || page(stdio(), json!({}), &["a"], json!("2"));
    let invalid = json!({ "cursor": "workbench-no-such-cursor" });
    vec![
        ("list-holds-a-list", stdio().result("tools/list", json!({}), json!({})), first()),
        ("next-cursor-is-a-string", page(stdio(), json!({}), &["a"], json!(2)), first()),
        (
            "pages-come-to-an-end",
            page(first(), json!({ "cursor": "2" }), &["b"], json!("2")),
            page(first(), json!({ "cursor": "2" }), &["b"], Value::Null),
        ),
        (
            "pages-do-not-overlap",
            page(first(), json!({ "cursor": "2" }), &["a"], Value::Null),
            page(first(), json!({ "cursor": "2" }), &["b"], Value::Null),
        ),
        (
            "invalid-cursor-is-refused",
            page(first(), invalid.clone(), &["a"], Value::Null),
            first().error("tools/list", invalid, -32602),
        ),
    ]
}

fn transports() -> Vec<(&'static str, Talk, Talk)> {
    let told = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let left =
        ObservedProcess { pid: 2, parent: 1, command: "sleep".to_owned(), server: true, first_us: 0, last_us: 9 };
    let strange =
        |code: u16| http().post(&[("mcp-protocol-version", "1999-01-01")], call("ping")).says_with(code, json!({}));
    let origin = |code: u16| http().post(&[("origin", "http://evil.invalid")], call("ping")).says_with(code, json!({}));
    let without = |code: u16| http().ask(call("ping")).says_with(code, json!({}));
    let delete = |code: u16| http().bodiless("DELETE", &session()).replies(code, "");
    let after = |code: u16| delete(200).post(&session(), call("ping")).says_with(code, json!({}));
    let mut bad_session = http();
    bad_session.0.steps = vec![outcome(None, json!({ "session": { "visible_ascii": false } }))];
    vec![
        (
            "stdout-holds-only-messages",
            stdio().text(Direction::ServerToClient, "Listening…"),
            stdio().text(Direction::ServerToClient, " ").says(json!({})),
        ),
        (
            "exits-when-input-closes",
            stdio().step(json!({ "exited": false, "elapsed_ms": 4000 })).close(),
            stdio().step(json!({ "exited": true, "elapsed_ms": 3 })).close(),
        ),
        (
            "server-leaves-no-process",
            stdio().process(ProcessEvidence { left: vec![left], ..ProcessEvidence::default() }),
            stdio().process(ProcessEvidence::default()),
        ),
        (
            "http-reply-is-json-or-events",
            http().ask(call("ping")).replies(200, "text/html"),
            http().ask(call("ping")).replies(200, "Text/Event-Stream; charset=utf-8"),
        ),
        ("http-notification-is-accepted", http().ask(told.clone()).replies(200, ""), http().ask(told).replies(202, "")),
        ("http-session-id-is-visible-ascii", bad_session, http()),
        (
            "http-get-opens-a-stream-or-405",
            http().bodiless("GET", &[]).replies(200, "text/html"),
            http().bodiless("GET", &[]).replies(405, ""),
        ),
        ("http-unsupported-revision-is-400", strange(200), strange(400)),
        ("http-foreign-origin-is-refused", origin(200), origin(403)),
        ("http-missing-session-is-400", without(404), without(400)),
        // A 400 is no working DELETE.
        ("http-delete-ends-the-session-or-405", delete(400), delete(204)),
        ("http-ended-session-is-404", after(200), after(404)),
    ]
}

fn newest() -> Vec<(&'static str, Talk, Talk)> {
    let result = |fields: Value| modern().result("server/discover", meta(), fields);
    let fine = || result(good(json!({ "supportedVersions": ["2026-07-28"], "capabilities": {} })));
    let list = |talk: Talk, cursor: Option<&str>, scope: &str| {
        let mut params = meta();
        if let Some(cursor) = cursor {
            params["cursor"] = json!(cursor);
        }
        talk.result("tools/list", params, good(json!({ "tools": [], "cacheScope": scope })))
    };
    let bare = |code: i64| modern().error("server/discover", json!({}), code);
    let supported = json!({ "supported": ["2026-07-28"], "requested": "1999-01-01" });
    let unknown =
        |code: u16, data: Value| discover_with(&[], meta_of("1999-01-01")).says_with(code, refusal(-32022, data));
    let fits = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/list")];
    let not_found =
        |code: u16| modern_http().ask(call("workbench/no-such-method")).says_with(code, refusal(-32601, json!(null)));
    let handshake = |message: &str| {
        let error = json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -32601, "message": message } });
        modern().ask(call("initialize")).says(error)
    };
    vec![
        ("result-type", result(json!({})), fine()),
        ("caching-hints", result(good(json!({ "ttlMs": -1 }))), fine()),
        (
            "cache-scope-same-on-every-page",
            list(list(modern(), None, "private"), Some("2"), "public"),
            list(list(modern(), None, "public"), Some("2"), "public"),
        ),
        ("server-info-in-results", result(json!({ "resultType": "complete" })), fine()),
        (
            "server-sends-no-requests",
            fine().says(json!({ "jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage" })),
            fine(),
        ),
        ("reserved-error-codes", modern().error("x", meta(), -32042), modern().error("x", meta(), -32601)),
        ("discover-result", result(good(json!({ "supportedVersions": "2026-07-28", "capabilities": {} }))), fine()),
        ("missing-metadata-is-refused", bare(-32601), bare(-32602)),
        ("unsupported-revision-is-refused", unknown(400, json!({})), unknown(400, supported)),
        (
            "http-header-mismatch-is-refused",
            discover_with(&fits, meta()).says_with(200, json!({ "jsonrpc": "2.0", "id": 1, "result": {} })),
            discover_with(&fits, meta()).says_with(400, refusal(-32020, json!(null))),
        ),
        ("http-unknown-method-is-404", not_found(200), not_found(404)),
        (
            "http-get-and-delete-are-405",
            modern_http().bodiless("GET", &[]).replies(400, ""),
            modern_http().bodiless("GET", &[]).replies(405, ""),
        ),
        (
            "initialize-names-the-supported-revisions",
            handshake("no such method"),
            handshake("only 2026-07-28 is supported"),
        ),
        (
            "subscription-is-acknowledged",
            listen(modern()).says(on_subscription("notifications/tools/list_changed")),
            listen(modern()).says(on_subscription("notifications/subscriptions/acknowledged")),
        ),
    ]
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
    for check in all() {
        let Some((_, broken, held)) = table.iter().find(|(id, ..)| *id == check.id) else {
            wrong.push(format!("{}: not in the table", check.id));
            continue;
        };
        match run(check, &broken.0) {
            CheckOutcome::Failed { .. } => {}
            other => wrong.push(format!("{}: should be broken: {other:?}", check.id)),
        }
        match run(check, &held.0) {
            CheckOutcome::Passed { .. } => {}
            other => wrong.push(format!("{}: should be held: {other:?}", check.id)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(table.len(), all().count(), "the table names a check that is none");
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
