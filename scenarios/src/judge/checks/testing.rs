//! Evidence for the tests of checks, built message by message.
//!
//! Over HTTP each message of the client is a POST with the headers of a conforming client, and messages of the server go
//! out on the latest exchange; over HTTP+SSE they go out on the stream.

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use evidence::{Body, ConnectionEvent, Direction, Frame, Http};
use serde_json::{Value, json};

use crate::{
    evidence::{Evidence, ObservedProcess, Outcome, ProcessEvidence, StepError, StepOutcome},
    judge::{Transcript, check::CheckOutcome},
    model::{Revision, Transport, UnknownNames},
};

/// How far apart two things happen, if the test does not say.
const STEP_US: u64 = 1_000;

/// Builds evidence.
pub(crate) struct EvidenceBuilder {
    evidence: Evidence,
    server: String,
    now_us: u64,
    connection: u64,
    exchanges: u64,
    stream: Option<(u64, String)>,
    session: Option<String>,
    greeted: bool,
}

impl EvidenceBuilder {
    pub(crate) fn new(transport: Transport, revision: Revision) -> Self {
        let evidence = Evidence {
            profile: reports::model::Profile::Agent,
            ..Evidence::without_records("test/evidence", transport, revision)
        };
        Self {
            evidence,
            server: "mock".to_owned(),
            now_us: 0,
            connection: 1,
            exchanges: 0,
            stream: None,
            session: None,
            greeted: false,
        }
    }

    pub(crate) fn stdio(revision: Revision) -> Self {
        Self::new(Transport::Stdio, revision)
    }

    pub(crate) fn http(revision: Revision) -> Self {
        Self::new(Transport::StreamableHttp, revision)
    }

    /// HTTP+SSE, with the stream open.
    pub(crate) fn sse() -> Self {
        Self::new(Transport::HttpSse, Revision::V2024_11_05).stream("/messages?session=1")
    }

    /// Over each transport of 2025-11-25, after the handshake.
    pub(crate) fn legacy() -> Vec<Self> {
        let stories = [Self::stdio(Revision::V2025_11_25), Self::http(Revision::V2025_11_25), Self::sse()];
        stories.into_iter().map(Self::greet).collect()
    }

    /// Opens an HTTP+SSE stream that sends the client to this endpoint.
    pub(crate) fn stream(mut self, endpoint: &str) -> Self {
        self.exchange("GET", "/sse", Body::Event(ConnectionEvent::Bodiless), BTreeMap::new());
        let http = Http { status: Some(200), event: Some("endpoint".to_owned()), ..Http::default() };
        self.push(Direction::ServerToClient, Body::Text(endpoint.to_owned()), Some(http));
        self.stream = Some((self.connection, endpoint.to_owned()));
        self.greeted = false;
        self
    }

    /// The client says this.
    pub(crate) fn client(mut self, message: Value) -> Self {
        let path = match (self.evidence.transport, &self.stream) {
            (Transport::Stdio, _) => {
                self.push(Direction::ClientToServer, Body::json(message), None);
                return self;
            }
            (_, Some((_, path))) => path.clone(),
            _ => "/mcp".to_owned(),
        };
        let headers = self.good_headers(&message);
        self.exchange("POST", &path, Body::json(message), headers);
        self
    }

    /// The server says this.
    pub(crate) fn server(mut self, message: Value) -> Self {
        let http = match &self.stream {
            _ if self.evidence.transport == Transport::Stdio => None,
            Some((stream, _)) => {
                self.connection = *stream;
                Some(Http { status: Some(200), event: Some("message".to_owned()), ..Http::default() })
            }
            None => Some(Http { status: Some(200), ..Http::default() }),
        };
        self.push(Direction::ServerToClient, Body::json(message), http);
        self
    }

    /// The client writes this text.
    pub(crate) fn text(mut self, text: &str) -> Self {
        self.push(Direction::ClientToServer, Body::Text(text.to_owned()), None);
        self
    }

    /// The connection ends, or something else happens to it.
    pub(crate) fn mark(mut self, mark: ConnectionEvent) -> Self {
        let from_client = matches!(mark, ConnectionEvent::ClosedByPeer | ConnectionEvent::Sigterm);
        let direction = if from_client { Direction::ClientToServer } else { Direction::ServerToClient };
        self.push(direction, Body::Event(mark), None);
        self
    }

    /// The server answers the latest HTTP request with this status alone.
    pub(crate) fn status(mut self, status: u16) -> Self {
        let http = Http { status: Some(status), ..Http::default() };
        self.push(Direction::ServerToClient, Body::Event(ConnectionEvent::Bodiless), Some(http));
        self
    }

    /// The client sends an HTTP request without a body to the MCP endpoint.
    pub(crate) fn verb(mut self, verb: &str) -> Self {
        let mut headers = self.good_headers(&Value::Null);
        headers.insert("accept".to_owned(), "text/event-stream".to_owned());
        self.exchange(verb, "/mcp", Body::Event(ConnectionEvent::Bodiless), headers);
        self
    }

    /// The client requests another path of the server.
    pub(crate) fn get(mut self, path: &str) -> Self {
        self.exchange("GET", path, Body::Event(ConnectionEvent::Bodiless), BTreeMap::new());
        self
    }

    /// The server sends an event without a message on the latest exchange.
    pub(crate) fn event(mut self, id: &str, retry_ms: Option<u64>) -> Self {
        let retry = retry_ms.map(|ms| ms.to_string());
        let http = Http { status: Some(200), event_id: Some(id.to_owned()), retry, ..Http::default() };
        self.push(Direction::ServerToClient, Body::Event(ConnectionEvent::Bodiless), Some(http));
        self
    }

    /// The latest frame has this HTTP header.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        http_of_latest(&mut self.evidence).headers_mut().insert(name.to_owned(), value.to_owned());
        self
    }

    /// The latest frame lacks this HTTP header.
    pub(crate) fn without(mut self, name: &str) -> Self {
        http_of_latest(&mut self.evidence).headers_mut().remove(name).expect("a header that was there");
        self
    }

    /// The latest answer opens a session with this id.
    pub(crate) fn opens(mut self, session: &str) -> Self {
        self.session = Some(session.to_owned());
        self.with("mcp-session-id", session)
    }

    /// A handshake, with a session over Streamable HTTP.
    pub(crate) fn greet(self) -> Self {
        let declared = json!({"tools": {"listChanged": true}, "prompts": {}, "resources": {}});
        self.greet_with(declared)
    }

    /// A handshake with a server of these capabilities.
    pub(crate) fn greet_with(mut self, capabilities: Value) -> Self {
        let revision = self.evidence.revision.as_str();
        self.session = None;
        self = self.client(initialize(0, revision));
        self = self.server(result(0, json!({"protocolVersion": revision, "capabilities": capabilities})));
        if self.evidence.transport == Transport::StreamableHttp {
            let session = format!("session-{}", self.exchanges);
            self = self.opens(&session);
        }
        self.greeted = true;
        self.client(note("notifications/initialized"))
    }

    /// So much time passes.
    pub(crate) fn wait(mut self, ms: u64) -> Self {
        self.now_us += ms * 1_000;
        self
    }

    /// What follows is about this server.
    pub(crate) fn at(mut self, server: &str) -> Self {
        server.clone_into(&mut self.server);
        self
    }

    /// What follows is on this connection.
    pub(crate) fn on(mut self, connection: u64) -> Self {
        self.connection = connection;
        self
    }

    /// The number of the latest connection.
    pub(crate) fn connection(&self) -> u64 {
        self.connection
    }

    /// A step of the scenario lasted from `ms` ago until now, and came to this.
    pub(crate) fn step(mut self, ms: u64, outcome: Outcome) -> Self {
        let began_us = self.now_us.saturating_sub(ms * 1_000);
        let step = Some(self.evidence.steps.len());
        self.evidence.steps.push(StepOutcome { step, server: None, began_us, ended_us: self.now_us, outcome });
        self.now_us += STEP_US;
        self
    }

    /// A step of the scenario timed out that had begun `ms` ago.
    pub(crate) fn timed_out_step(self, ms: u64) -> Self {
        let error =
            StepError { kind: "timed-out".to_owned(), message: "no answer".to_owned(), code: None, detail: None };
        self.step(ms, Outcome::Error(error))
    }

    /// The client's process ended by now, like this.
    pub(crate) fn ends(mut self, change: impl FnOnce(&mut ProcessEvidence)) -> Self {
        let mut process = ProcessEvidence { code: Some(0), ended_us: Some(self.now_us), ..ProcessEvidence::default() };
        change(&mut process);
        self.evidence.process = Some(process);
        self
    }

    /// The client was killed on purpose by now.
    pub(crate) fn killed(self) -> Self {
        self.ends(|process| {
            (process.code, process.signal, process.killed_on_purpose) = (None, Some(9), true);
        })
    }

    /// The evidence.
    pub(crate) fn build(mut self) -> Evidence {
        self.evidence.elapsed_us = self.now_us;
        self.evidence
    }

    fn good_headers(&self, message: &Value) -> BTreeMap<String, String> {
        let mut headers = BTreeMap::new();
        let mut put = |name: &str, value: &str| headers.insert(name.to_owned(), value.to_owned());
        put("content-type", "application/json");
        put("accept", "application/json, text/event-stream");
        if self.evidence.transport == Transport::HttpSse {
            return headers;
        }
        let member = |pointer: &str| message.pointer(pointer).and_then(Value::as_str);
        if let Some(revision) = member("/params/_meta/io.modelcontextprotocol~1protocolVersion") {
            put("mcp-protocol-version", revision);
            put("mcp-method", member("/method").unwrap_or_default());
            if let Some(name) = member("/params/name").or_else(|| member("/params/uri")) {
                put("mcp-name", name);
            }
            return headers;
        }
        if self.greeted && member("/method") != Some("initialize") {
            put("mcp-protocol-version", self.evidence.revision.as_str());
            if let Some(session) = &self.session {
                put("mcp-session-id", session);
            }
        }
        headers
    }

    fn exchange(&mut self, verb: &str, path: &str, body: Body, headers: BTreeMap<String, String>) {
        self.exchanges += 1;
        self.connection = self.exchanges;
        let (method, path) = (Some(verb.to_owned()), Some(path.to_owned()));
        self.push(
            Direction::ClientToServer,
            body,
            Some(Http { method, path, headers: Arc::new(headers), ..Http::default() }),
        );
    }

    fn push(&mut self, direction: Direction, body: Body, http: Option<Http>) {
        self.now_us += STEP_US;
        let (seq, connection) = (self.evidence.frames.len() as u64, self.connection);
        let (at_us, server) = (self.now_us, self.server.clone());
        let http = http.map(Arc::new);
        self.evidence.frames.push(Frame { seq, at_us, server, connection, direction, body, http });
    }
}

/// The HTTP part of the latest frame.
pub(crate) fn http_of_latest(evidence: &mut Evidence) -> &mut Http {
    evidence.frames.last_mut().and_then(|frame| frame.http.as_mut()).map(Arc::make_mut).expect("an HTTP frame")
}

/// A request.
pub(crate) fn request(id: impl Into<Value>, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params})
}

/// A request of 2026-07-28, with the metadata that it needs.
pub(crate) fn modern(id: impl Into<Value>, method: &str, params: Value) -> Value {
    let mut message = request(id, method, params);
    message["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    });
    message
}

/// A sound `initialize`.
pub(crate) fn initialize(id: impl Into<Value>, revision: &str) -> Value {
    let info = json!({"name": "test", "version": "1"});
    request(id, "initialize", json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": info}))
}

/// A call of a tool.
pub(crate) fn call(id: impl Into<Value>, tool: &str) -> Value {
    request(id, "tools/call", json!({"name": tool, "arguments": {}}))
}

/// A notification.
pub(crate) fn note(method: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": method})
}

/// `notifications/cancelled`.
pub(crate) fn cancel(id: impl Into<Value>) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id.into()}})
}

/// A result.
pub(crate) fn result(id: impl Into<Value>, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "result": result})
}

/// An error.
pub(crate) fn error(id: impl Into<Value>, code: i64) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "error": {"code": code, "message": "no"}})
}

/// The result of `tools/list`: these tools, and perhaps a cursor.
pub(crate) fn tools(id: impl Into<Value>, names: &[&str], next: Option<&str>) -> Value {
    let tools: Vec<_> = names.iter().map(|name| json!({"name": name, "inputSchema": {"type": "object"}})).collect();
    let mut page = json!({"tools": tools});
    if let Some(next) = next {
        page["nextCursor"] = json!(next);
    }
    result(id, page)
}

/// A process.
pub(crate) fn process(command: &str) -> ObservedProcess {
    ObservedProcess { pid: 7, parent: 1, command: command.to_owned(), server: true, first_us: 0, last_us: 0 }
}

/// The names in the test evidence that no server has.
pub(super) static UNKNOWN: LazyLock<UnknownNames> = LazyLock::new(|| UnknownNames {
    method: Some("workbench/no-such-method".to_owned()),
    revision: Some("1999-01-01".to_owned()),
    tool: Some("workbench-no-such-tool".to_owned()),
    prompt: Some("workbench-no-such-prompt".to_owned()),
    resource: Some("workbench-test://no-such-resource".to_owned()),
});

/// The outcome of a check.
pub(super) fn outcome(check: &str, evidence: &Evidence) -> CheckOutcome {
    let (check, _) = super::all().find(|(known, _)| known.id == check).expect("a check with this id");
    check.run(&Transcript::new(evidence, &UNKNOWN))
}

/// The check passes.
#[track_caller]
pub(crate) fn passes(check: &str, evidence: EvidenceBuilder) {
    let outcome = outcome(check, &evidence.build());
    assert!(matches!(outcome, CheckOutcome::Passed { .. }), "{outcome:?}");
}

/// The check fails, and its observation contains this text.
#[track_caller]
pub(crate) fn fails(check: &str, evidence: EvidenceBuilder, text: &str) {
    let outcome = outcome(check, &evidence.build());
    assert!(matches!(&outcome, CheckOutcome::Failed { observed, .. } if observed.contains(text)), "{outcome:?}");
}

/// The check does not apply.
#[track_caller]
pub(crate) fn not_applicable(check: &str, evidence: EvidenceBuilder) {
    let outcome = outcome(check, &evidence.build());
    assert!(matches!(outcome, CheckOutcome::NotApplicable(_)), "{outcome:?}");
}

/// The check is blocked.
#[track_caller]
pub(crate) fn blocked(check: &str, evidence: EvidenceBuilder) {
    let outcome = outcome(check, &evidence.build());
    assert!(matches!(outcome, CheckOutcome::Blocked(_)), "{outcome:?}");
}
