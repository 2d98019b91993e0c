//! The handshake, and the metadata of messages, in each revision.

use std::time::Duration;

use evidence::Frame;
use serde_json::{Map, Value, json};

use crate::{evidence::StepError, model::Revision, parameter_headers::encode};

use super::{
    LONGEST, Outgoing, Peer, PeerTransport,
    http::{Headers, VERSION},
    rpc_error,
};

// Keys of the metadata in every request (2026-07-28, basic, `_meta`).
const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";
pub(crate) const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

const INITIALIZED: &str = "notifications/initialized";
/// What a server may request from a client that declares it (2025-11-25, basic/lifecycle, capability negotiation).
const CLIENT_FEATURES: [&str; 4] = ["roots", "sampling", "elicitation", "tasks"];

/// Timeout of a request of 2026-07-28 to a server that responded before.
pub(super) const PROBE: Duration = Duration::from_secs(3);
/// Shortest timeout of the first response after a handshake, in units of the duration of the handshake: a busy machine that
/// delayed the one delays the other.
const FIRST_RESPONSE: u32 = 4;

impl Peer {
    /// Declares capabilities to the server.
    pub(crate) fn declaring(mut self, capabilities: Map<String, Value>) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Goes without a handshake. Over HTTP the server runs already; a process begins to respond when it has started, at most after
    /// this time.
    pub(crate) fn without_handshake(&mut self, startup: Duration) {
        if let PeerTransport::Stdio(_) = &self.transport {
            self.startup = startup;
        }
    }

    /// Performs the handshake of the revision: `initialize` and `notifications/initialized`. Returns the result of
    /// `initialize`, or `None` in 2026-07-28, which has no handshake.
    pub(crate) async fn handshake(&mut self, within: Duration) -> Result<Option<Value>, StepError> {
        if self.revision.is_modern() {
            self.without_handshake(within);
            return Ok(None);
        }
        let sent = self.send(initialize(self.revision, &self.capabilities)).await?;
        let response = self.only_response(&sent, within).await?;
        self.startup = (Duration::from_micros(self.now_us() - sent.at_us) * FIRST_RESPONSE).min(LONGEST);
        if let Some(error) = rpc_error(&response) {
            let message = format!("`initialize` returned an error: {}", error.message);
            return Err(StepError { message, ..error });
        }
        let result = response.get("result").cloned().unwrap_or(Value::Null);
        // A check reports a result without a version; the run goes on with the requested one.
        let version = result.get("protocolVersion").and_then(Value::as_str).unwrap_or(self.revision.as_str());
        if let PeerTransport::Http(connection) = &self.transport {
            connection.set_revision(version);
        }
        self.notify(&initialized()).await?;
        Ok(Some(result))
    }

    /// Whether another scenario, which declares these capabilities, can use the session as it is. Completes a handshake that raw
    /// text began.
    pub(crate) async fn can_continue(&mut self, capabilities: &Map<String, Value>) -> bool {
        if self.revision.is_modern() {
            return true;
        }
        let is_usable = {
            let state = self.recorder.lock();
            let declares_same = |feature: &str| state.declared.get(feature) == capabilities.get(feature);
            let accepts = |message: &Value| {
                message.pointer("/result/protocolVersion").is_some_and(|version| version == self.revision.as_str())
            };
            CLIENT_FEATURES.into_iter().all(declares_same) && state.received_since(0).any(accepts)
        };
        let is_initialized = |frame: &Frame| frame.from_client() && frame.method() == Some(INITIALIZED);
        is_usable && (self.recorder.frames().iter().any(is_initialized) || self.notify(&initialized()).await.is_ok())
    }

    /// Sends a request of 2026-07-28. Over stdio, servers of both eras choose one by the first request that only one era has,
    /// and `ping` belongs to the other.
    pub(crate) async fn choose_era(&mut self) {
        if self.revision.is_modern() {
            let first = Outgoing { method: "tools/list".to_owned(), ..Outgoing::default() };
            drop(self.request(first, PROBE).await);
        }
    }

    /// Whether the session id has only visible ASCII characters; `None` without a session.
    pub(crate) fn session_is_visible_ascii(&self) -> Option<bool> {
        match &self.transport {
            PeerTransport::Http(connection) => connection.session_is_visible_ascii(),
            _ => None,
        }
    }

    pub(super) fn message(&self, outgoing: &Outgoing, id: Option<&Value>) -> Value {
        let mut message = json!({ "jsonrpc": "2.0" });
        if let Some(id) = id {
            message["id"] = id.clone();
        }
        message["method"] = json!(outgoing.method);
        if let Some(params) = self.params(outgoing, id.is_some()) {
            message["params"] = Value::Object(params);
        }
        message
    }

    /// The parameters, with the metadata that the revision requires. Members from the scenario have priority.
    fn params(&self, outgoing: &Outgoing, request: bool) -> Option<Map<String, Value>> {
        if outgoing.bare || !self.revision.is_modern() || !request {
            return outgoing.params.clone();
        }
        let mut params = outgoing.params.clone().unwrap_or_default();
        let given = params.get("_meta").and_then(Value::as_object).cloned().unwrap_or_default();
        let mut meta = Map::new();
        meta.insert(META_VERSION.to_owned(), json!(self.revision.as_str()));
        meta.insert(META_CLIENT.to_owned(), client_info());
        meta.insert(META_CAPABILITIES.to_owned(), json!(self.capabilities));
        meta.extend(given);
        params.insert("_meta".to_owned(), Value::Object(meta));
        Some(params)
    }

    /// The headers of a message (2026-07-28, basic/transports/streamable-http, request metadata).
    pub(super) fn headers(&self, message: &Value, bare: bool) -> Headers {
        let mut headers = Headers::new();
        if !self.revision.is_modern() {
            return headers;
        }
        let declared = message.pointer("/params/_meta").and_then(|meta| meta.get(META_VERSION)).and_then(Value::as_str);
        // Without the header, a request without metadata would count as one of an older client.
        let version = declared.or((bare || message.get("id").is_none()).then_some(self.revision.as_str()));
        if let Some(version) = version {
            headers.insert(VERSION.to_owned(), version.to_owned());
        }
        if let Some(method) = message.get("method").and_then(Value::as_str) {
            headers.insert("mcp-method".to_owned(), encode(method));
            let key = match method {
                "tools/call" | "prompts/get" => Some("/params/name"),
                "resources/read" => Some("/params/uri"),
                // SEP-2663, routing headers.
                "tasks/get" | "tasks/update" | "tasks/cancel" => Some("/params/taskId"),
                _ => None,
            };
            if let Some(name) = key.and_then(|key| message.pointer(key)?.as_str()) {
                headers.insert("mcp-name".to_owned(), encode(name));
            }
            if method == "tools/call" {
                headers.extend(self.recorder.parameter_headers(message));
            }
        }
        headers
    }

    /// The headers of raw text.
    pub(super) fn raw_headers(&self, text: &str) -> Headers {
        match serde_json::from_str::<Value>(text) {
            Ok(message) if message["method"] != "initialize" => self.headers(&message, true),
            _ => Headers::new(),
        }
    }
}

/// The `initialize` request for a revision.
pub(super) fn initialize(revision: Revision, capabilities: &Map<String, Value>) -> Outgoing {
    let params = json!({ "protocolVersion": revision, "capabilities": capabilities, "clientInfo": client_info() });
    Outgoing { method: "initialize".to_owned(), params: params.as_object().cloned(), ..Outgoing::default() }
}

/// Every client capability that a server can use.
pub(crate) fn all_capabilities() -> Map<String, Value> {
    Map::from_iter([
        ("elicitation".to_owned(), json!({ "form": {}, "url": {} })),
        ("sampling".to_owned(), json!({ "tools": {}, "context": {} })),
        ("roots".to_owned(), json!({})),
    ])
}

/// The notification that completes the handshake.
pub(super) fn initialized() -> Outgoing {
    Outgoing { method: INITIALIZED.to_owned(), ..Outgoing::default() }
}

/// The `server/discover` request.
pub(super) fn discover() -> Outgoing {
    Outgoing { method: "server/discover".to_owned(), ..Outgoing::default() }
}

fn client_info() -> Value {
    json!({ "name": "mcp-workbench", "version": env!("CARGO_PKG_VERSION") })
}

impl Peer {
    pub(crate) fn revision(&self) -> Revision {
        self.revision
    }
}
