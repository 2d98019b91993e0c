//! JSON-RPC messages: classification and construction.

use serde_json::{Map, Value, json};

use super::{Era, Rejection};

/// The members of `_meta` in 2026-07-28 (basic, `_meta`; logging).
pub(crate) const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const LOG_LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";
pub(crate) const SERVER_INFO_KEY: &str = "io.modelcontextprotocol/serverInfo";
/// The member of `_meta` that names the task of a message in 2025-11-25.
const RELATED_TASK_KEY: &str = "io.modelcontextprotocol/related-task";

/// The notification of a changed resource.
pub(crate) const RESOURCE_UPDATED: &str = "notifications/resources/updated";

/// The name by which rules and persistent faults select text that is not JSON.
pub(crate) const INVALID_JSON: &str = "invalid-json";
/// The name by which they select JSON that is not a JSON-RPC message.
pub(crate) const INVALID_MESSAGE: &str = "invalid-message";

/// The name by which rules select a response of the client.
pub(crate) const CLIENT_RESPONSE: &str = "response";

/// The placeholder of an invalid message or of a response, as rules and persistent faults see it.
pub(crate) fn placeholder(name: &str) -> Value {
    json!({ "jsonrpc": "2.0", "method": name })
}

/// Kind of a JSON-RPC message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Request,
    Notification,
    Response,
    /// Not a message of JSON-RPC 2.0, or a batch.
    Invalid,
}

impl Kind {
    pub(crate) fn new(message: &Value) -> Self {
        let has = |name| message.get(name).is_some();
        if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return Self::Invalid;
        }
        match (message.get("method"), message.get("id")) {
            // A request's id is a string or an integer, and never null (2026-07-28, basic, requests).
            (Some(Value::String(_)), Some(Value::String(_) | Value::Number(_))) => Self::Request,
            (Some(Value::String(_)), None) => Self::Notification,
            (None, Some(_)) if has("result") != has("error") => Self::Response,
            _ => Self::Invalid,
        }
    }
}

/// The method of a message, or an empty string.
pub(crate) fn method(message: &Value) -> &str {
    message.get("method").and_then(Value::as_str).unwrap_or_default()
}

/// A parameter of a message.
pub(crate) fn param<'a>(message: &'a Value, name: &str) -> Option<&'a Value> {
    message.get("params")?.get(name)
}

/// A result or error without its id.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Outcome {
    Result(Value),
    Error { code: i64, message: String, data: Option<Value> },
}

impl Outcome {
    pub(crate) fn error(code: i64, message: impl Into<String>) -> Self {
        Self::Error { code, message: message.into(), data: None }
    }

    pub(crate) fn invalid_params(message: impl Into<String>) -> Self {
        Self::error(-32602, message)
    }

    /// The error for a request that needs an undeclared capability (2026-07-28, basic, `_meta`).
    pub(crate) fn missing_capability(required: Value) -> Self {
        Self::Error {
            code: -32021,
            message: format!("the client does not declare the capabilities {required}"),
            data: Some(json!({ "requiredCapabilities": required })),
        }
    }

    /// The HTTP status of the response. In 2026-07-28 (Streamable HTTP) an unknown method is a 404, and errors of the
    /// envelope are a 400. Earlier revisions respond to every request with 200.
    pub(crate) fn http_status(&self, era: Era) -> u16 {
        match (era, self) {
            (Era::Modern, Self::Error { code: -32601, .. }) => 404,
            (Era::Modern, Self::Error { code: -32700 | -32600 | -32022..=-32020, .. }) => 400,
            _ => 200,
        }
    }

    /// The response with this outcome and id.
    pub(crate) fn response(self, id: Option<Value>) -> Value {
        let mut response = Map::new();
        response.insert("jsonrpc".into(), "2.0".into());
        if let Some(id) = id {
            response.insert("id".into(), id);
        }
        match self {
            Self::Result(result) => response.insert("result".into(), result),
            Self::Error { code, message, data } => {
                let mut error = json!({ "code": code, "message": message });
                if let Some(data) = data {
                    error["data"] = data;
                }
                response.insert("error".into(), error)
            }
        };
        Value::Object(response)
    }
}

impl From<Rejection> for Outcome {
    fn from(rejection: Rejection) -> Self {
        Self::Error { code: rejection.code, message: rejection.message, data: rejection.data }
    }
}

/// A notification, or with an id a request.
pub(crate) fn outgoing(id: Option<Value>, method: &str, params: Option<Value>) -> Value {
    let mut message = Map::new();
    message.insert("jsonrpc".into(), "2.0".into());
    if let Some(id) = id {
        message.insert("id".into(), id);
    }
    message.insert("method".into(), method.into());
    if let Some(params) = params {
        message.insert("params".into(), params);
    }
    Value::Object(message)
}

/// The metadata that ties a message to its task (2025-11-25, tasks, related task metadata).
pub(crate) fn relate(members: &mut Value, task: &str) {
    if !members.is_object() {
        *members = json!({});
    }
    if !members["_meta"].is_object() {
        members["_meta"] = json!({});
    }
    members["_meta"][RELATED_TASK_KEY] = json!({ "taskId": task });
}
