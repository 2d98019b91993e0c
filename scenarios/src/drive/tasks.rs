//! Calls that become tasks (the extension `io.modelcontextprotocol/tasks`, on 2026-07-28): asked about until they end.

use std::{collections::HashSet, time::Duration};

use client::{CallError, Connection, ToolResult};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

/// How often to ask where the server does not say.
const POLL: Duration = Duration::from_millis(500);

/// The end of a call: its result, or that of the task that it has become.
pub(super) async fn end_of(
    connection: &Connection,
    ended: Result<ToolResult, CallError>,
    cancel: &CancellationToken,
) -> Result<ToolResult, CallError> {
    let result = ended?;
    if result.result_type() != "task" {
        return Ok(result);
    }
    let mut task = result.wire().clone();
    let id = text(&task, "taskId").ok_or_else(|| malformed("a task without `taskId`"))?;
    let mut answered = HashSet::new();
    loop {
        match text(&task, "status").unwrap_or_default().as_str() {
            "completed" => return result_of(task),
            "failed" => return Err(failure_of(&task)),
            "cancelled" => return Err(CallError::Cancelled),
            "input_required" => answer(connection, &id, &task, &mut answered).await?,
            _ => {}
        }
        let poll = task.get("pollIntervalMs").and_then(Value::as_u64).map_or(POLL, Duration::from_millis);
        tokio::select! {
            () = cancel.cancelled() => {
                connection.cancel_task(&id).await?;
                return Err(CallError::Cancelled);
            }
            () = tokio::time::sleep(poll) => {}
        }
        task = connection.task(&id).await?;
    }
}

/// Has the user answer what was not answered before: a question may be seen again before its answer has taken effect.
async fn answer(
    connection: &Connection,
    id: &str,
    task: &Map<String, Value>,
    answered: &mut HashSet<String>,
) -> Result<(), CallError> {
    let asked = task.get("inputRequests").and_then(Value::as_object).cloned().unwrap_or_default();
    let fresh: Map<String, Value> = asked.into_iter().filter(|(key, _)| answered.insert(key.clone())).collect();
    if fresh.is_empty() { Ok(()) } else { connection.answer_task(id, fresh).await }
}

fn result_of(mut task: Map<String, Value>) -> Result<ToolResult, CallError> {
    let result = task.remove("result").unwrap_or_default();
    serde_json::from_value(result).map_err(|_| malformed("the result of the task is not an object"))
}

fn failure_of(task: &Map<String, Value>) -> CallError {
    let error = task.get("error").cloned().unwrap_or_default();
    CallError::Rpc {
        code: error.get("code").and_then(Value::as_i64).unwrap_or_default(),
        message: error.get("message").and_then(Value::as_str).unwrap_or_default().to_owned(),
        data: error.get("data").cloned(),
    }
}

fn text(members: &Map<String, Value>, name: &str) -> Option<String> {
    members.get(name)?.as_str().map(str::to_owned)
}

fn malformed(detail: &str) -> CallError {
    CallError::MalformedResult { detail: detail.to_owned() }
}
