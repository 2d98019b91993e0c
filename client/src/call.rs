//! Tool calls.
//!
//! A call that is given up, by its clock, by its caller, or because its future was dropped, is cancelled at the server:
//! with `notifications/cancelled` over stdio and in the legacy era, by closing the response stream over Streamable HTTP on
//! 2026-07-28 (patterns, "Cancellation").

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::{
    connection::{Connection, Exchange, Patience},
    drift::Fingerprint,
    error::CallError,
    event::{CallId, Happening},
    revision::Era,
};

/// What calls a tool.
pub(crate) const METHOD: &str = "tools/call";

/// How one call is made. The defaults are those of the server's configuration.
#[derive(Debug, Clone)]
pub struct CallOptions {
    /// How long to wait without an answer, or without progress.
    pub timeout: Option<Duration>,
    /// How long to wait at all.
    pub ceiling: Option<Duration>,
    /// Whether progress starts `timeout` again; it never touches `ceiling`.
    pub reset_on_progress: bool,
    /// Cancels the call.
    pub cancel: CancellationToken,
    /// The tool as the caller has seen it. The call is refused if it has changed since in a way that matters.
    pub seen: Option<Fingerprint>,
    /// Whether to wait for the result of a task that the call has become, within its `ceiling`. Otherwise the task itself is
    /// the result; see [`ToolResult::result_type`].
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

/// What a tool answered: the wire's own JSON.
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
            // Structured content alone can be used, though the specification asks for `content` as well; a result of
            // another type has its own fields.
            None if wire.contains_key("structuredContent") || !complete => {}
            None => return malformed("the result has no `content`"),
        }
        if wire.get("isError").is_some_and(|flag| !flag.is_boolean()) {
            return malformed("`isError` is not a boolean");
        }
        Ok(Self { wire })
    }

    /// Whether the tool itself reports a failure.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.wire.get("isError").and_then(Value::as_bool).unwrap_or(false)
    }

    /// The blocks of content.
    #[must_use]
    pub fn content(&self) -> &[Value] {
        self.wire.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    /// The structured result.
    #[must_use]
    pub fn structured(&self) -> Option<&Value> {
        self.wire.get("structuredContent")
    }

    /// The type of the result (2026-07-28); `complete` where it is not given.
    #[must_use]
    pub fn result_type(&self) -> &str {
        self.wire.get("resultType").and_then(Value::as_str).unwrap_or("complete")
    }

    /// All blocks of text, one after the other, with a line break in between.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.content().iter().filter(|block| block.get("type").and_then(Value::as_str) == Some("text"));
        texts.filter_map(|block| block.get("text")?.as_str()).collect::<Vec<_>>().join("\n")
    }

    /// Everything that the server said.
    #[must_use]
    pub fn wire(&self) -> &Map<String, Value> {
        &self.wire
    }
}

/// A call under way. Dropped before its end, it is cancelled. Its clocks run from the start, but are only looked at in
/// [`Self::finish`].
#[derive(Debug)]
pub struct PendingCall {
    connection: Connection,
    exchange: Option<Exchange>,
    patience: Patience,
    /// To make the request again, should the server ask for more.
    params: Map<String, Value>,
    await_task: bool,
    id: CallId,
    tool: String,
}

impl Connection {
    /// Calls a tool, by the server's own name, and waits for its result. A result with `isError` is a result.
    ///
    /// # Errors
    /// A [`CallError`].
    pub async fn call(&self, tool: &str, arguments: Value, options: CallOptions) -> Result<ToolResult, CallError> {
        self.prepare_call(tool, arguments, options).await?.finish().await
    }

    /// Sends a call without waiting for its result.
    ///
    /// # Errors
    /// A [`CallError`] if the call was refused before it was sent, or the connection is over.
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

    /// A call that is sent at the latest when it is waited for.
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
        let patience = Patience {
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
        self.report(|| Happening::CallStarted { call: id, tool: tool.to_owned() });
        Ok(PendingCall {
            connection: self.clone(),
            exchange: Some(exchange),
            patience,
            params,
            await_task: options.await_task && self.era() == Era::Modern,
            id,
            tool: tool.to_owned(),
        })
    }
}

impl PendingCall {
    /// Identifies the call in events.
    #[must_use]
    pub fn id(&self) -> CallId {
        self.id
    }

    /// The id of the request on the wire, as JSON.
    #[must_use]
    pub fn request_id(&self) -> Value {
        self.exchange.as_ref().map(|exchange| exchange.id().clone().into_json_value()).unwrap_or_default()
    }

    /// Cancels the call: [`Self::finish`] then fails with [`CallError::Cancelled`].
    pub fn cancel(&self) {
        self.patience.cancel.cancel();
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
        let seen_through = self.connection.see_through(exchange, METHOD, params, Some(self.id), &self.patience);
        let mut outcome = seen_through.await.and_then(ToolResult::read);
        if let (Ok(result), true) = (&mut outcome, self.await_task)
            && result.result_type() == "task"
        {
            let mut left = self.patience.clone();
            left.ceiling = left.ceiling.saturating_sub(begun.elapsed());
            let task = std::mem::take(&mut result.wire);
            outcome = self.connection.task_result(task, self.id, &left).await.and_then(ToolResult::read);
        }
        end.outcome = Some(match &outcome {
            Ok(result) if result.is_error() => "tool-error",
            Ok(_) => "ok",
            Err(error) => error.kind(),
        });
        outcome
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

/// Counts a call by how it ended, whether or not it was ever sent. The name of the field is the one by which
/// `tracing-opentelemetry` knows a counter.
pub(crate) fn count(server: &str, tool: &str, status: &str) {
    tracing::info!(target: "mcp.call", server, tool, status, monotonic_counter.mcp.call = 1_u64);
}

/// Reports the end of a call, also where its future is dropped.
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
        self.connection.report(|| Happening::CallEnded { call, outcome, took_us });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_results_and_refuses_what_is_none() {
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
