//! What every message must carry, and how a conversation begins, in each revision.

use std::time::Duration;

use base64::Engine as _;
use serde_json::{Map, Value, json};

use crate::{evidence::StepError, model::Revision};

use super::{
    Outgoing, Peer, PeerTransport, failure,
    http::{Headers, VERSION},
    rpc_error,
};

/// The key under which a request carries its revision (2026-07-28, basic, `_meta`).
const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The key for who asks.
const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";
/// The key for what the client can do.
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

impl Peer {
    /// Greets the server as the revision asks. With the handshake revisions that is `initialize` and
    /// `notifications/initialized`; gives back the result of `initialize`. In 2026-07-28 there is no greeting.
    pub(crate) async fn greet(&mut self, within: Duration) -> Result<Option<Value>, StepError> {
        if self.revision.is_modern() {
            return Ok(None);
        }
        let response = self.request(initialize(self.revision.as_str()), within).await?;
        if let Some(error) = rpc_error(&response) {
            return Err(error);
        }
        let result = response.get("result").cloned().unwrap_or(Value::Null);
        let Some(version) = result.get("protocolVersion").and_then(Value::as_str) else {
            return Err(failure("handshake", "the result of `initialize` holds no protocolVersion"));
        };
        if let PeerTransport::Http(connection) = &self.transport {
            connection.speak(version);
        }
        let initialized = Outgoing { method: "notifications/initialized".to_owned(), ..Outgoing::default() };
        self.notify(&initialized).await?;
        Ok(Some(result))
    }

    /// Whether the session's id is of visible ASCII, where there is one.
    pub(crate) fn session_is_visible_ascii(&self) -> Option<bool> {
        match &self.transport {
            PeerTransport::Http(connection) => connection.session_is_visible_ascii(),
            _ => None,
        }
    }

    /// The whole message.
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

    /// The parameters, with the metadata that the revision asks every request to carry; what the scenario gives wins.
    fn params(&self, outgoing: &Outgoing, request: bool) -> Option<Map<String, Value>> {
        if outgoing.bare || !self.revision.is_modern() || !request {
            return outgoing.params.clone();
        }
        let mut params = outgoing.params.clone().unwrap_or_default();
        let given = params.get("_meta").and_then(Value::as_object).cloned().unwrap_or_default();
        let mut meta = Map::new();
        meta.insert(META_VERSION.to_owned(), json!(self.revision.as_str()));
        meta.insert(META_CLIENT.to_owned(), client_info());
        meta.insert(META_CAPABILITIES.to_owned(), json!({}));
        meta.extend(given);
        params.insert("_meta".to_owned(), Value::Object(meta));
        Some(params)
    }

    /// The headers that the message asks for (2026-07-28, basic/transports/streamable-http, request metadata).
    pub(super) fn headers(&self, message: &Value, bare: bool) -> Headers {
        let mut headers = Headers::new();
        if !self.revision.is_modern() {
            return headers;
        }
        let declared = message.pointer("/params/_meta").and_then(|meta| meta.get(META_VERSION)).and_then(Value::as_str);
        // A request without metadata still says its revision in the header, or it would be taken for an older client's.
        let version = declared.or((bare || message.get("id").is_none()).then_some(self.revision.as_str()));
        if let Some(version) = version {
            headers.insert(VERSION.to_owned(), version.to_owned());
        }
        if let Some(method) = message.get("method").and_then(Value::as_str) {
            headers.insert("mcp-method".to_owned(), encode(method));
            let key = if method == "resources/read" { "/params/uri" } else { "/params/name" };
            let named = matches!(method, "tools/call" | "prompts/get" | "resources/read");
            if let Some(name) = message.pointer(key).and_then(Value::as_str).filter(|_| named) {
                headers.insert("mcp-name".to_owned(), encode(name));
            }
        }
        headers
    }

    /// The headers of text that is written as it is.
    pub(super) fn raw_headers(&self, text: &str) -> Headers {
        match serde_json::from_str::<Value>(text) {
            Ok(message) if message["method"] != "initialize" => self.headers(&message, true),
            _ => Headers::new(),
        }
    }
}

/// The `initialize` request for a revision.
pub(super) fn initialize(revision: &str) -> Outgoing {
    let params = json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": client_info() });
    Outgoing { method: "initialize".to_owned(), params: params.as_object().cloned(), ..Outgoing::default() }
}

/// The `server/discover` request.
pub(super) fn discover() -> Outgoing {
    Outgoing { method: "server/discover".to_owned(), ..Outgoing::default() }
}

/// Who we are.
fn client_info() -> Value {
    json!({ "name": "mcp-workbench", "version": env!("CARGO_PKG_VERSION") })
}

/// The value of a header, in the encoding for what no header can hold (2026-07-28, basic/transports/streamable-http,
/// value encoding).
fn encode(value: &str) -> String {
    let plain = value.bytes().all(|byte| (0x20..=0x7e).contains(&byte));
    let padded = value.starts_with(' ') || value.ends_with(' ');
    let sentinel = value.starts_with("=?base64?") && value.ends_with("?=");
    if plain && !padded && !sentinel {
        return value.to_owned();
    }
    format!("=?base64?{}?=", base64::engine::general_purpose::STANDARD.encode(value))
}

impl Peer {
    /// The revision that is spoken.
    pub(crate) fn revision(&self) -> Revision {
        self.revision
    }
}
