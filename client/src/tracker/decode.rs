//! Decodes bytes to messages.

use std::sync::Arc;

use rmcp::model::{
    CustomRequest, CustomResult, DiscoverResult, EmptyResult, ErrorCode, ErrorData, InitializeResult, ListToolsResult,
    NumberOrString, RequestId, ServerJsonRpcMessage, ServerResult, Tool,
};
use serde_json::{Value, json};

use super::{Failure, Purpose, RawAnswer, RequestTracker};
use crate::{
    event::{ClientEventKind, SkipReason},
    revision::Revision,
};

/// Marks an error that replaces an unreadable response.
pub(crate) const MALFORMED: &str = "mcp-workbench/malformed";
/// Marks an error that replaces an oversized response.
pub(crate) const OVERSIZE: &str = "mcp-workbench/oversize";
/// The error of rmcp 3.9 for a response that was pending in a lost session. HTTP+SSE here uses the same one.
pub(crate) const SESSION_GONE: &str = "streamable HTTP session was re-initialized before the response arrived";
/// `UnsupportedProtocolVersionError` (2026-07-28, schema).
const UNSUPPORTED_PROTOCOL_VERSION: i64 = -32022;

impl RequestTracker {
    /// Decodes one line, body or event. A batch (2025-03-26, JSON-RPC batching) contains several messages. Invalid
    /// messages are skipped and counted. Responses that bypass rmcp are delivered and not returned.
    pub(crate) fn decode(&self, bytes: &[u8]) -> Vec<ServerJsonRpcMessage> {
        let read = |value| self.decode_value(value).and_then(|message| self.hand_over(message));
        match serde_json::from_slice(bytes) {
            Ok(Value::Array(batch)) => batch.into_iter().filter_map(read).collect(),
            Ok(value) => read(value).into_iter().collect(),
            Err(_) => {
                self.skip(SkipReason::NotJson, bytes);
                Vec::new()
            }
        }
    }

    /// An error that replaces an oversized response, if its id is known and pending. Anything else is skipped and
    /// counted.
    pub(crate) fn too_long(&self, id: Option<Value>) -> Option<ServerJsonRpcMessage> {
        let Some((id, purpose)) = self.pending(id.as_ref()) else {
            self.skip(SkipReason::TooLong, b"");
            return None;
        };
        let limit = self.limits.message_bytes;
        if purpose == Purpose::Initialize {
            self.fail(Failure::Protocol(format!("the response to `initialize` is longer than {limit} bytes")));
        }
        let text = format!("the response is longer than {limit} bytes");
        let error = ErrorData::new(ErrorCode::INTERNAL_ERROR, text, Some(json!({ OVERSIZE: limit })));
        self.hand_over(ServerJsonRpcMessage::error(error, Some(id)))
    }

    /// Delivers a response that bypasses rmcp. Returns any other message.
    fn hand_over(&self, message: ServerJsonRpcMessage) -> Option<ServerJsonRpcMessage> {
        let id = match &message {
            ServerJsonRpcMessage::Response(response) => Some(&response.id),
            ServerJsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        let Some(waiting) = id.and_then(|id| self.settle_direct(id)) else { return Some(message) };
        let reply = match message {
            ServerJsonRpcMessage::Response(response) => match response.result {
                ServerResult::CustomResult(CustomResult(result)) => Ok(result),
                other => Ok(serde_json::to_value(other).unwrap_or_default()),
            },
            ServerJsonRpcMessage::Error(error) => Err(error.error),
            _ => return None,
        };
        // The receiver may have been dropped.
        let _ = waiting.send(reply);
        None
    }

    /// Decodes one message.
    pub(crate) fn decode_value(&self, mut value: Value) -> Option<ServerJsonRpcMessage> {
        let is_message = value.get("jsonrpc").and_then(Value::as_str) == Some("2.0");
        if is_message && value.get("method").is_some_and(Value::is_string) {
            return match serde_json::from_value(value.clone()) {
                Ok(message) => {
                    self.note_request(&message, value);
                    Some(message)
                }
                Err(_) => self.skip_value(SkipReason::NotJsonRpc, &value),
            };
        }
        let is_answer = value.get("result").is_some() || value.get("error").is_some();
        if !is_answer && value.get("method").is_some() {
            return self.skip_value(SkipReason::NotJsonRpc, &value);
        }
        let Some((id, purpose)) = self.pending(value.get("id")) else {
            return if is_answer {
                self.answer_without_question(value)
            } else {
                self.skip_value(SkipReason::NotJsonRpc, &value)
            };
        };
        if !is_message {
            return Some(malformed(id, "the response is not marked as JSON-RPC 2.0", value));
        }
        let fields = value.as_object_mut()?;
        match (fields.remove("result"), fields.remove("error")) {
            (Some(result), None) => Some(self.result_message(id, purpose, result)),
            (None, Some(error)) => Some(self.error_message(id, purpose, error)),
            (None, None) => Some(malformed(id, "the response has neither a result nor an error", value)),
            (result, _) => {
                Some(malformed(id, "the response has both a result and an error", json!({"result": result})))
            }
        }
    }

    /// Keeps the raw form of a request for the user.
    fn note_request(&self, message: &ServerJsonRpcMessage, mut value: Value) {
        let ServerJsonRpcMessage::Request(request) = message else { return };
        if let Some(method) = value.get("method").and_then(Value::as_str).filter(|method| *method != "ping") {
            let method = method.to_owned();
            let params = value.get_mut("params").map(Value::take);
            self.keep_request(request.id.clone(), CustomRequest::new(method, params));
        }
    }

    fn skip_value(&self, reason: SkipReason, value: &Value) -> Option<ServerJsonRpcMessage> {
        self.skip(reason, value.to_string().as_bytes());
        None
    }

    /// The pending request of an id. Some servers turn numbers into strings or floats, which is accepted.
    fn pending(&self, id: Option<&Value>) -> Option<(RequestId, Purpose)> {
        let id = match id? {
            Value::String(text) => NumberOrString::String(text.as_str().into()),
            Value::Number(number) => {
                let float = || number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 9e15);
                NumberOrString::Number(number.as_i64().or_else(|| float().map(|float| float as i64))?)
            }
            _ => return None,
        };
        let state = self.state();
        if let Some(entry) = state.pending.get(&id) {
            return Some((id, entry.purpose));
        }
        let NumberOrString::String(text) = &id else { return None };
        let id = NumberOrString::Number(text.parse().ok()?);
        state.pending.get(&id).map(|entry| (id.clone(), entry.purpose))
    }

    fn answer_without_question(&self, value: Value) -> Option<ServerJsonRpcMessage> {
        let id = value.get("id").filter(|id| !id.is_null());
        // A server that cannot parse a request cannot know its id (JSON-RPC 2.0, 5.1). During the handshake, only one
        // request is pending.
        if id.is_none() && self.greeting().is_none() {
            let error = read_error(value.get("error")?)?;
            let (id, purpose) = {
                let state = self.state();
                let (id, entry) = state.pending.iter().next()?;
                (id.clone(), entry.purpose)
            };
            return Some(self.judge_error(id, purpose, error));
        }
        let late = id.and_then(|id| serde_json::from_value::<RequestId>(id.clone()).ok());
        let late = late.is_some_and(|id| self.state().cancelled.contains(&id));
        self.skip_value(if late { SkipReason::LateReply } else { SkipReason::UnknownId }, &value)
    }

    fn result_message(&self, id: RequestId, purpose: Purpose, result: Value) -> ServerJsonRpcMessage {
        match purpose {
            Purpose::Initialize => self.initialize_result(id, result),
            Purpose::Discover => self.discover_result(id, result),
            Purpose::ListTools | Purpose::Other => {
                ServerJsonRpcMessage::response(ServerResult::CustomResult(CustomResult(result)), id)
            }
        }
    }

    fn initialize_result(&self, id: RequestId, result: Value) -> ServerJsonRpcMessage {
        let offered = result.get("protocolVersion").and_then(Value::as_str).unwrap_or("none");
        let wanted = self.wanted.handshake;
        // "If the client does not support the version in the server's response, it SHOULD disconnect" (2025-11-25,
        // lifecycle, "Version Negotiation"). The modern revision has no handshake, so the server cannot select it
        // there.
        let acceptable = offered
            .parse::<Revision>()
            .is_ok_and(|offered| !offered.is_modern() && (!self.wanted.pinned || offered == wanted));
        if !acceptable {
            self.fail(Failure::Version { wanted: wanted.to_string(), offered: offered.to_owned() });
            return malformed(id, "the client does not support the revision", result);
        }
        match serde_json::from_value::<InitializeResult>(result.clone()) {
            Ok(typed) => {
                self.state().greeting = Some(Arc::new(result));
                ServerJsonRpcMessage::response(ServerResult::InitializeResult(typed), id)
            }
            Err(error) => {
                self.fail(Failure::Protocol(format!("invalid result of `initialize`: {error}")));
                malformed(id, "invalid result of `initialize`", result)
            }
        }
    }

    fn discover_result(&self, id: RequestId, result: Value) -> ServerJsonRpcMessage {
        if has_only_handshakes(result.get("supportedVersions")) {
            return self.legacy(id, "the server supports only revisions with a handshake");
        }
        match serde_json::from_value::<DiscoverResult>(result.clone()) {
            Ok(typed) => {
                self.note_probe("the server supports `server/discover`");
                self.state().greeting = Some(Arc::new(result));
                ServerJsonRpcMessage::response(ServerResult::DiscoverResult(typed), id)
            }
            // A legacy server may respond with anything to an unknown method.
            Err(_) if self.wanted.both_eras => self.legacy(id, "the result of `server/discover` is invalid"),
            Err(error) => {
                self.fail(Failure::Protocol(format!("invalid result of `server/discover`: {error}")));
                malformed(id, "invalid result of `server/discover`", result)
            }
        }
    }

    fn error_message(&self, id: RequestId, purpose: Purpose, error: Value) -> ServerJsonRpcMessage {
        match read_error(&error) {
            Some(error) => self.judge_error(id, purpose, error),
            None => malformed(id, "the error has no code or no message", error),
        }
    }

    fn judge_error(&self, id: RequestId, purpose: Purpose, error: ErrorData) -> ServerJsonRpcMessage {
        if purpose == Purpose::Discover {
            let code = error.code.0;
            let supported = error.data.as_ref().and_then(|data| data.get("supported"));
            if i64::from(code) == UNSUPPORTED_PROTOCOL_VERSION && has_only_handshakes(supported) {
                return self.legacy(id, "the server supports only revisions with a handshake");
            }
            self.note_probe(format!("`server/discover` failed with error {code}"));
        }
        ServerJsonRpcMessage::error(error, Some(id))
    }

    /// A response to the probe that makes rmcp continue with `initialize`.
    pub(crate) fn legacy(&self, id: RequestId, why: &str) -> ServerJsonRpcMessage {
        self.note_probe(why);
        ServerJsonRpcMessage::error(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, why.to_owned(), None), Some(id))
    }

    /// Replaces a response by what rmcp's HTTP worker needs, and keeps the response until [`Self::restore`].
    ///
    /// The worker parses events by trying twenty types, and inspects only lists of tools, for headers that their
    /// schemas require (2026-07-28, streamable HTTP, "Custom Headers from Tool Parameters").
    pub(crate) fn shorten(&self, message: ServerJsonRpcMessage) -> ServerJsonRpcMessage {
        let ServerJsonRpcMessage::Response(mut response) = message else { return message };
        if let ServerResult::CustomResult(CustomResult(result)) = response.result {
            let purpose = self.state().pending.get(&response.id).map(|entry| entry.purpose);
            let lists_tools = purpose == Some(Purpose::ListTools);
            let (stand_in, shown) =
                if lists_tools { tools_of(&result) } else { (ServerResult::EmptyResult(EmptyResult {}), None) };
            if lists_tools {
                self.note_header_tools(&result);
            }
            let mut state = self.state();
            // Nothing would remove the response to a request that was cancelled in the meantime.
            if state.pending.contains_key(&response.id) {
                state.raw.insert(response.id.clone(), RawAnswer { result, shown });
            }
            drop(state);
            response.result = stand_in;
        }
        ServerJsonRpcMessage::Response(response)
    }

    fn note_header_tools(&self, result: &Value) {
        let mut state = self.state();
        for tool in result.get("tools").and_then(Value::as_array).into_iter().flatten() {
            let Some(name) = tool.get("name").and_then(Value::as_str) else { continue };
            if tool.get("inputSchema").is_some_and(mentions_headers) {
                state.header_tools.insert(name.to_owned());
            } else {
                state.header_tools.remove(name);
            }
        }
    }

    /// Restores the response that [`Self::shorten`] replaced.
    pub(crate) fn restore(&self, id: &RequestId, result: ServerResult) -> ServerResult {
        let Some(mut raw) = self.state().raw.remove(id) else { return result };
        if let (Some(shown), ServerResult::ListToolsResult(kept)) = (raw.shown, &result) {
            self.drop_tools(&mut raw.result, |name| {
                shown.contains(name) && !kept.tools.iter().any(|tool| tool.name == name)
            });
        }
        ServerResult::CustomResult(CustomResult(raw.result))
    }

    fn drop_tools(&self, result: &mut Value, rejected: impl Fn(&str) -> bool) {
        let Some(Value::Array(tools)) = result.get_mut("tools") else { return };
        tools.retain(|tool| {
            let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
            let keep = !rejected(name);
            if !keep {
                let (tool, reason) = (Some(name.to_owned()), "its `x-mcp-header` annotations are invalid".to_owned());
                self.reporter.report(|| ClientEventKind::ToolRejected { tool, reason });
            }
            keep
        });
    }
}

/// Whether a schema contains a header annotation. rmcp decides whether it is valid.
fn mentions_headers(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => fields.contains_key("x-mcp-header") || fields.values().any(mentions_headers),
        Value::Array(items) => items.iter().any(mentions_headers),
        _ => false,
    }
}

/// The tools that rmcp can read, and their names.
fn tools_of(result: &Value) -> (ServerResult, Option<std::collections::HashSet<String>>) {
    let tools = result.get("tools").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let readable: Vec<Tool> = tools.iter().filter_map(|tool| serde_json::from_value(tool.clone()).ok()).collect();
    let names = readable.iter().map(|tool| tool.name.to_string()).collect();
    (ServerResult::ListToolsResult(ListToolsResult::with_all_items(readable)), Some(names))
}

/// Whether the known revisions in a list all have a handshake, and there are some.
fn has_only_handshakes(list: Option<&Value>) -> bool {
    let items = list.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let known: Vec<Revision> = items.iter().filter_map(|item| item.as_str()?.parse().ok()).collect();
    !known.is_empty() && !known.iter().any(|revision| revision.is_modern())
}

fn read_error(error: &Value) -> Option<ErrorData> {
    let code = error.get("code")?;
    let code = code.as_i64().or_else(|| code.as_f64().filter(|code| code.fract() == 0.0).map(|code| code as i64))?;
    let message = error.get("message")?.as_str()?.to_owned();
    Some(ErrorData::new(ErrorCode(i32::try_from(code).ok()?), message, error.get("data").cloned()))
}

fn malformed(id: RequestId, reason: &str, what: Value) -> ServerJsonRpcMessage {
    let data = json!({ MALFORMED: reason, "answer": what });
    ServerJsonRpcMessage::error(ErrorData::new(ErrorCode::INTERNAL_ERROR, reason.to_owned(), Some(data)), Some(id))
}
