//! Tool calls.
//!
//! A call that times out, is cancelled by its caller or whose future is dropped is cancelled at the server: with
//! `notifications/cancelled` over stdio and in the legacy era, by closing the response stream over Streamable HTTP in
//! 2026-07-28 (patterns, "Cancellation").

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::{
    connection::{Connection, PendingRequest, RequestTimeouts},
    error::CallError,
    event::{CallId, ClientEventKind},
    fingerprint::Fingerprint,
};

pub(crate) const METHOD: &str = "tools/call";

/// Options of one call. The defaults come from the configuration of the server.
#[derive(Debug, Clone)]
pub struct CallOptions {
    /// Timeout without a response or progress.
    pub timeout: Option<Duration>,
    /// Timeout in total.
    pub ceiling: Option<Duration>,
    /// Whether progress restarts `timeout`. It does not affect `ceiling`.
    pub reset_on_progress: bool,
    /// Cancels the call.
    pub cancel: CancellationToken,
    /// The tool as the caller knows it. The call is rejected if the tool changed in a relevant way.
    pub seen: Option<Fingerprint>,
    /// Whether to wait, within `ceiling`, for the result if the server turns the call into a task. Otherwise the task
    /// is the result; see [`ToolResult::result_type`].
    pub await_task: bool,
}

impl Default for CallOptions {
    fn default() -> Self {
        Self {
            timeout: None,
            ceiling: None,
            reset_on_progress: true,
            cancel: CancellationToken::new(),
            seen: None,
            await_task: true,
        }
    }
}

/// The result of a tool call, as received.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolResult {
    wire: Map<String, Value>,
}

impl ToolResult {
    fn read(value: Value) -> Result<Self, CallError> {
        let malformed = |detail: &str| Err(CallError::MalformedResult { detail: detail.into() });
        let Value::Object(wire) = value else { return malformed("the result is not an object") };
        let complete = wire.get("resultType").is_none_or(|kind| kind == "complete");
        match wire.get("content") {
            Some(Value::Array(blocks)) if blocks.iter().all(Value::is_object) => {}
            Some(Value::Array(_)) => return malformed("a block of `content` is not an object"),
            Some(_) => return malformed("`content` is not an array"),
            // The specification requires `content` too, but structured content alone is usable. A result of another
            // type has its own fields.
            None if wire.contains_key("structuredContent") || !complete => {}
            None => return malformed("the result has no `content`"),
        }
        if wire.get("isError").is_some_and(|flag| !flag.is_boolean()) {
            return malformed("`isError` is not a boolean");
        }
        Ok(Self { wire })
    }

    /// Whether the tool reports an error.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.wire.get("isError").and_then(Value::as_bool).unwrap_or(false)
    }

    /// The content blocks.
    #[must_use]
    pub fn content(&self) -> &[Value] {
        self.wire.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    /// The structured content.
    #[must_use]
    pub fn structured(&self) -> Option<&Value> {
        self.wire.get("structuredContent")
    }

    /// The type of the result (2026-07-28). The default is `complete`.
    #[must_use]
    pub fn result_type(&self) -> &str {
        self.wire.get("resultType").and_then(Value::as_str).unwrap_or("complete")
    }

    /// All text blocks, separated by line breaks.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.content().iter().filter(|block| block.get("type").and_then(Value::as_str) == Some("text"));
        texts.filter_map(|block| block.get("text")?.as_str()).collect::<Vec<_>>().join("\n")
    }

    /// The result, as received.
    #[must_use]
    pub fn wire(&self) -> &Map<String, Value> {
        &self.wire
    }
}

/// A call without a response. Dropping it cancels it. Timeouts run from the start, but are only enforced in
/// [`Self::finish`].
#[derive(Debug)]
pub struct PendingCall {
    connection: Connection,
    exchange: Option<PendingRequest>,
    timeouts: RequestTimeouts,
    /// The parameters for a repeated request, if the server requests input.
    params: Map<String, Value>,
    await_task: bool,
    id: CallId,
    tool: String,
    /// The version of the tool that the caller knows.
    seen: Option<Fingerprint>,
}

/// `HeaderMismatch` (2026-07-28, basic/transports/streamable-http#server-validation).
const HEADER_MISMATCH: i64 = -32020;

impl Connection {
    /// Calls a tool, by the server's own name, and waits for the result. A result with `isError` is not an error here.
    ///
    /// # Errors
    /// A [`CallError`].
    pub async fn call(&self, tool: &str, arguments: Value, options: CallOptions) -> Result<ToolResult, CallError> {
        self.prepare_call(tool, arguments, options).await?.finish().await
    }

    /// Sends a call without waiting for the result.
    ///
    /// # Errors
    /// A [`CallError`] if the call was rejected before it was sent, or the connection has ended.
    pub async fn start_call(
        &self,
        tool: &str,
        arguments: Value,
        options: CallOptions,
    ) -> Result<PendingCall, CallError> {
        let mut call = self.prepare_call(tool, arguments, options).await?;
        if let Some(exchange) = &mut call.exchange {
            exchange.start();
        }
        Ok(call)
    }

    /// Repeats a call that the server rejected for its headers, once, after reading the list again, which says which
    /// parameters are mirrored ("SHOULD", 2026-07-28, basic/transports/streamable-http#client-behavior). A rejected call was
    /// not executed. If the tool changed in a way that the caller must know, the call fails as stale.
    async fn call_with_current_headers(
        &self,
        tool: &str,
        params: Map<String, Value>,
        seen: Option<Fingerprint>,
        id: CallId,
        timeouts: &RequestTimeouts,
    ) -> Result<Value, CallError> {
        if let Err(error) = self.refresh().await {
            tracing::debug!(%error, "repeating a call with the headers of the old list");
        }
        self.check_view(tool, seen).await?;
        let again = self.send(METHOD, Some(Value::Object(params.clone())), Some(id)).await?;
        self.run_input_rounds(again, METHOD, params, Some(id), timeouts).await
    }

    /// Prepares a call, which is sent at the latest when it is polled.
    async fn prepare_call(&self, tool: &str, arguments: Value, options: CallOptions) -> Result<PendingCall, CallError> {
        let prepared = self.try_prepare_call(tool, arguments, options).await;
        prepared.inspect_err(|error| count(self.name(), tool, error.kind()))
    }

    async fn try_prepare_call(
        &self,
        tool: &str,
        arguments: Value,
        options: CallOptions,
    ) -> Result<PendingCall, CallError> {
        self.check_view(tool, options.seen).await?;
        let timeouts = self.timeouts();
        let idle = options.timeout.unwrap_or(timeouts.call);
        let ceiling = options.ceiling.unwrap_or_else(|| timeouts.call_ceiling.max(idle));
        let timeouts = RequestTimeouts {
            idle: idle.min(ceiling),
            ceiling: if options.reset_on_progress { ceiling } else { idle.min(ceiling) },
            reset_on_progress: options.reset_on_progress,
            cancel: options.cancel,
        };
        let mut params = Map::new();
        params.insert("name".into(), tool.into());
        // `arguments` is optional and an object (2024-11-05, schema, `CallToolRequest`).
        if !arguments.is_null() {
            params.insert("arguments".into(), arguments);
        }
        self.add_sandbox(&mut params);
        let id = self.next_call();
        let exchange = self.send(METHOD, Some(Value::Object(params.clone())), Some(id)).await?;
        self.report(|| ClientEventKind::CallStarted { call: id, tool: tool.to_owned() });
        Ok(PendingCall {
            connection: self.clone(),
            exchange: Some(exchange),
            timeouts,
            params,
            await_task: options.await_task && self.rules().tasks,
            id,
            tool: tool.to_owned(),
            seen: options.seen,
        })
    }
}

impl PendingCall {
    /// The id in events.
    #[must_use]
    pub fn id(&self) -> CallId {
        self.id
    }

    /// The JSON-RPC id.
    #[must_use]
    pub fn request_id(&self) -> Value {
        self.exchange.as_ref().map(|exchange| exchange.id().clone().into_json_value()).unwrap_or_default()
    }

    /// Cancels the call. [`Self::finish`] then fails with [`CallError::Cancelled`].
    pub fn cancel(&self) {
        self.timeouts.cancel.cancel();
    }

    /// Waits for the result.
    ///
    /// # Errors
    /// A [`CallError`].
    pub async fn finish(mut self) -> Result<ToolResult, CallError> {
        let Some(exchange) = self.exchange.take() else { return Err(CallError::Cancelled) };
        let begun = exchange.begun();
        let tool = std::mem::take(&mut self.tool);
        let mut end = EndReport { connection: &self.connection, call: self.id, tool: &tool, begun, outcome: None };
        let params = std::mem::take(&mut self.params);
        let (connection, id) = (&self.connection, Some(self.id));
        // Only revisions whose headers mirror parameters have the error.
        let again = connection.rules().input_rounds.then(|| params.clone());
        let mut outcome = connection.run_input_rounds(exchange, METHOD, params, id, &self.timeouts).await;
        if let (Err(CallError::Rpc { code: HEADER_MISMATCH, .. }), Some(params)) = (&outcome, again) {
            outcome = connection.call_with_current_headers(&tool, params, self.seen, self.id, &self.timeouts).await;
        }
        let mut outcome = outcome.and_then(ToolResult::read);
        if let (Ok(result), true) = (&mut outcome, self.await_task)
            && result.result_type() == "task"
        {
            let mut left = self.timeouts.clone();
            left.ceiling = left.ceiling.saturating_sub(begun.elapsed());
            let task = std::mem::take(&mut result.wire);
            outcome = self.connection.task_result(task, self.id, &left).await.and_then(ToolResult::read);
        }
        outcome = outcome.and_then(|result| self.with_valid_output(&tool, result));
        end.outcome = Some(match &outcome {
            Ok(result) if result.is_error() => "tool-error",
            Ok(_) => "ok",
            Err(error) => error.kind(),
        });
        outcome
    }

    /// "Clients SHOULD validate structured results against this schema" (2025-06-18, server/tools#output-schema). A tool
    /// that changed since the call is not a basis for it.
    fn with_valid_output(&self, tool: &str, result: ToolResult) -> Result<ToolResult, CallError> {
        let Some(content) = result.structured().filter(|_| !result.is_error()) else { return Ok(result) };
        let known = self.connection.current_tool(tool);
        let called = known.filter(|known| self.seen.is_none_or(|seen| seen == known.fingerprint()));
        match called.and_then(|tool| tool.output_violation(content)) {
            Some(violation) => Err(CallError::MalformedResult {
                detail: format!("`structuredContent` does not conform to the output schema of `{tool}`: {violation}"),
            }),
            None => Ok(result),
        }
    }
}

impl Drop for PendingCall {
    fn drop(&mut self) {
        if let Some(exchange) = self.exchange.take() {
            let begun = exchange.begun();
            drop(EndReport { connection: &self.connection, call: self.id, tool: &self.tool, begun, outcome: None });
        }
    }
}

/// Counts a call by its outcome, even if it was not sent. The field name is the one that `tracing-opentelemetry`
/// treats as a counter.
pub(crate) fn count(server: &str, tool: &str, status: &str) {
    tracing::info!(target: "mcp.call", server, tool, status, monotonic_counter.mcp.call = 1_u64);
}

/// Reports the end of a call, even if its future is dropped.
struct EndReport<'a> {
    connection: &'a Connection,
    call: CallId,
    tool: &'a str,
    begun: tokio::time::Instant,
    outcome: Option<&'static str>,
}

impl Drop for EndReport<'_> {
    fn drop(&mut self) {
        let (call, outcome) = (self.call, self.outcome.unwrap_or("cancelled"));
        count(self.connection.name(), self.tool, outcome);
        let outcome = outcome.to_owned();
        let took_us = u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.connection.report(|| ClientEventKind::CallEnded { call, outcome, took_us });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_results_and_rejects_invalid_ones() {
        let result = ToolResult::read(json!({
            "content": [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}],
            "isError": true,
            "x": 1,
        }));
        let result = result.unwrap();
        assert!(result.is_error());
        assert_eq!(result.text(), "a\nb");
        assert_eq!(result.wire()["x"], 1);
        assert!(ToolResult::read(json!({"structuredContent": {"a": 1}})).is_ok());
        assert_eq!(ToolResult::read(json!({"resultType": "input_required"})).unwrap().result_type(), "input_required");
        for bad in [
            json!(null),
            json!([]),
            json!({}),
            json!({"content": "text"}),
            json!({"content": ["text"]}),
            json!({"content": [], "isError": "no"}),
        ] {
            assert_eq!(ToolResult::read(bad.clone()).unwrap_err().kind(), "malformed-result", "{bad}");
        }
    }
}
