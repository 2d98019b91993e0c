//! Handles server requests of one connection: parses them, consults the user, and encodes the response.

use std::sync::Arc;

use rmcp::model::{ClientCapabilities, ErrorCode, ErrorData};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;
use url::Url;

use super::{
    HostLink, HostSupport, Root,
    form::Form,
    request::{HostRequest, HostRequestKind, HostResponse},
};
use crate::event::CallId;

/// Error code for sampling that the user rejected (2025-11-25, sampling, "Error Handling").
const REFUSED_BY_THE_USER: i32 = -1;

/// Handles the requests of one server.
#[derive(Debug, Clone)]
pub(crate) struct HostDispatcher {
    server: Arc<str>,
    link: Option<HostLink>,
}

impl HostDispatcher {
    pub(crate) fn new(server: &str, link: Option<HostLink>) -> Self {
        Self { server: server.into(), link }
    }

    pub(crate) fn link(&self) -> Option<&HostLink> {
        self.link.as_ref()
    }

    pub(crate) fn support(&self) -> HostSupport {
        self.link.as_ref().map_or(HostSupport::NONE, HostLink::support)
    }

    /// The capabilities for server requests.
    pub(crate) fn capabilities(&self) -> ClientCapabilities {
        let support = self.support();
        let mut declared = Map::new();
        let mut elicitation = Map::new();
        for (mode, supported) in [("form", support.forms), ("url", support.urls)] {
            if supported {
                elicitation.insert(mode.into(), json!({}));
            }
        }
        if !elicitation.is_empty() {
            declared.insert("elicitation".into(), elicitation.into());
        }
        if support.sampling {
            let tools = support.sampling_tools;
            declared.insert("sampling".into(), if tools { json!({ "tools": {} }) } else { json!({}) });
        }
        if support.roots {
            declared.insert("roots".into(), json!({ "listChanged": true }));
        }
        if support.tasks {
            declared.insert("extensions".into(), json!({ "io.modelcontextprotocol/tasks": {} }));
        }
        serde_json::from_value(Value::Object(declared)).unwrap_or_default()
    }

    /// Responds to a server request, after consulting the user if necessary. Dropping the future withdraws the request
    /// from the user.
    pub(crate) async fn request(
        &self,
        method: &str,
        params: Option<Value>,
        wire_id: Value,
        call: Option<CallId>,
    ) -> Result<Value, ErrorData> {
        let support = self.support();
        let params = params.unwrap_or_default();
        match (method, &self.link) {
            ("roots/list", Some(link)) if support.roots => Ok(roots(&link.roots())),
            ("elicitation/create", Some(link)) if support.forms || support.urls => {
                let kind = elicitation(&params, support)?;
                let url = matches!(kind, HostRequestKind::Url { .. });
                let answer = self.consult(link, kind, wire_id, call).await;
                Ok(match answer {
                    HostResponse::Accept(Some(content)) => json!({ "action": "accept", "content": content }),
                    HostResponse::Accept(None) if url => json!({ "action": "accept" }),
                    HostResponse::Cancel => json!({ "action": "cancel" }),
                    _ => json!({ "action": "decline" }),
                })
            }
            ("sampling/createMessage", Some(link)) if support.sampling => {
                let kind = sampling(params, support)?;
                match self.consult(link, kind, wire_id, call).await {
                    HostResponse::Sampled(result) => Ok(Value::Object(result)),
                    _ => Err(error(ErrorCode(REFUSED_BY_THE_USER), "user rejected sampling request")),
                }
            }
            _ => Err(error(ErrorCode::METHOD_NOT_FOUND, "the client has not declared this capability")),
        }
    }

    async fn consult(
        &self,
        link: &HostLink,
        kind: HostRequestKind,
        wire_id: Value,
        call: Option<CallId>,
    ) -> HostResponse {
        let (reply, answer) = oneshot::channel();
        let (server, number) = (Arc::clone(&self.server), link.next_number());
        if !link.hand_over(HostRequest { server, number, wire_id, call, kind, reply: Some(reply) }) {
            return HostResponse::Decline;
        }
        answer.await.unwrap_or(HostResponse::Cancel)
    }
}

fn roots(roots: &[Root]) -> Value {
    json!({ "roots": roots })
}

fn error(code: ErrorCode, message: impl Into<String>) -> ErrorData {
    ErrorData::new(code, message.into(), None)
}

fn invalid(reason: impl std::fmt::Display) -> ErrorData {
    error(ErrorCode::INVALID_PARAMS, reason.to_string())
}

fn elicitation(params: &Value, support: HostSupport) -> Result<HostRequestKind, ErrorData> {
    let message = params.get("message").and_then(Value::as_str).unwrap_or_default().to_owned();
    // "Clients MUST treat requests without a `mode` field as form mode" (2025-11-25, elicitation).
    match params.get("mode").map_or(Some("form"), Value::as_str) {
        Some("form") if support.forms => {
            let schema = params.get("requestedSchema").ok_or_else(|| invalid("`requestedSchema` is missing"))?;
            Ok(HostRequestKind::Form { message, form: Form::read(schema).map_err(invalid)? })
        }
        Some("url") if support.urls => {
            let url = params.get("url").and_then(Value::as_str).ok_or_else(|| invalid("`url` is missing"))?;
            let url = Url::parse(url).map_err(|error| invalid(format!("`url`: {error}")))?;
            // Other schemes could start a local program.
            if !matches!(url.scheme(), "http" | "https") {
                return Err(invalid("`url` is neither an http nor an https URL"));
            }
            let elicitation_id = params.get("elicitationId").and_then(Value::as_str).map(str::to_owned);
            Ok(HostRequestKind::Url { message, url, elicitation_id })
        }
        // "-32602 (Invalid params): Server sends an `elicitation/create` request with a mode not declared in client
        // capabilities" (2025-11-25, elicitation, "Error Handling").
        _ => Err(invalid("the client has not declared this mode")),
    }
}

fn sampling(params: Value, support: HostSupport) -> Result<HostRequestKind, ErrorData> {
    let Value::Object(params) = params else { return Err(invalid("`params` is missing")) };
    let messages = params.get("messages").and_then(Value::as_array).ok_or_else(|| invalid("`messages` is missing"))?;
    // "Tool results mixed with other content: -32602 (Invalid params)" (2025-11-25, sampling, "Error Handling").
    if messages.iter().any(has_mixed_results) {
        return Err(invalid("a message has tool results and other content"));
    }
    // "The client MUST return an error if this field is provided but ClientCapabilities.sampling.tools is not declared"
    // (2025-11-25, schema, `CreateMessageRequestParams.tools`).
    if !support.sampling_tools && (params.contains_key("tools") || params.contains_key("toolChoice")) {
        return Err(invalid("the client has not declared sampling with tools"));
    }
    Ok(HostRequestKind::Sampling { params })
}

fn has_mixed_results(message: &Value) -> bool {
    let blocks = message.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let results = blocks.iter().filter(|block| block.get("type").is_some_and(|kind| kind == "tool_result")).count();
    results > 0 && results < blocks.len()
}
