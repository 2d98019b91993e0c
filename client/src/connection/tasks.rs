//! Tasks: results that are polled by id (extension `io.modelcontextprotocol/tasks`, 2026-07-28).
//!
//! A call that becomes a task is awaited unless its [`crate::CallOptions`] disable that. Otherwise the caller polls.

use std::{collections::HashSet, time::Duration};

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{Connection, RequestTimeouts};
use crate::{
    error::{CallError, TimeoutKind},
    event::CallId,
};

/// Default polling interval.
const INTERVAL: Duration = Duration::from_secs(1);
/// Minimum and maximum polling interval, whatever the server requests.
const INTERVALS: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(60));
/// Maximum number of consecutive polling errors.
const FAILURES: u32 = 3;

/// A task that is cancelled on drop.
struct Wanted {
    connection: Connection,
    id: Option<String>,
}

impl Drop for Wanted {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            self.connection.inner.cancellations.cancel_task(id);
        }
    }
}

impl Connection {
    /// Requests the state of a task: its status, and its input requests, result or error.
    ///
    /// # Errors
    /// A [`CallError`]; [`CallError::NotInRevision`] in the legacy era.
    pub async fn task(&self, id: &str) -> Result<Map<String, Value>, CallError> {
        self.task_request("tasks/get", json!({ "taskId": id }), Some("status")).await
    }

    /// Asks the user for the input of a task and sends it. `asked` is the `inputRequests` of its state.
    ///
    /// # Errors
    /// As [`Self::task`], and [`CallError::InputRefused`].
    pub async fn respond_to_task(&self, id: &str, input_requests: Map<String, Value>) -> Result<(), CallError> {
        self.respond_to_task_of(id, input_requests, None).await
    }

    /// Cancels a task. The outcome is visible in its state.
    ///
    /// # Errors
    /// As [`Self::task`].
    pub async fn cancel_task(&self, id: &str) -> Result<(), CallError> {
        self.task_request("tasks/cancel", json!({ "taskId": id }), None).await.map(drop)
    }

    async fn task_request(
        &self,
        method: &'static str,
        params: Value,
        field: Option<&str>,
    ) -> Result<Map<String, Value>, CallError> {
        if !self.rules().tasks {
            return Err(CallError::NotInRevision { method: method.to_owned() });
        }
        self.plain(method, params, field).await
    }

    /// Waits for the result of the task of a call. On timeout, cancellation or drop, the task is cancelled at the
    /// server.
    pub(crate) async fn task_result(
        &self,
        mut task: Map<String, Value>,
        call: CallId,
        timeouts: &RequestTimeouts,
    ) -> Result<Value, CallError> {
        let Some(id) = task.get("taskId").and_then(Value::as_str).map(str::to_owned) else {
            return Err(CallError::MalformedResult { detail: "the task has no `taskId`".into() });
        };
        let mut wanted = Wanted { connection: self.clone(), id: Some(id.clone()) };
        let begun = Instant::now();
        let (mut with_the_user, mut responded) = (Duration::ZERO, HashSet::new());
        loop {
            if let Some(end) = end_of(&mut task, &id) {
                wanted.id = None;
                return end;
            }
            if let Some(input_requests) = new_questions(&mut task, &mut responded) {
                let since = Instant::now();
                tokio::select! {
                    biased;
                    () = timeouts.cancel.cancelled() => return Err(CallError::Cancelled),
                    given = self.respond_to_task_of(&id, input_requests, Some(call)) => given?,
                }
                with_the_user += since.elapsed();
            }
            let left = (timeouts.ceiling + with_the_user).saturating_sub(begun.elapsed());
            tokio::select! {
                biased;
                () = timeouts.cancel.cancelled() => return Err(CallError::Cancelled),
                () = self.inner.tracker.closed.cancelled() => return Err(self.disconnect_error().await),
                () = tokio::time::sleep(interval(&task)), if left > interval(&task) => {}
                () = tokio::time::sleep(left) => {
                    return Err(CallError::TimedOut { clock: TimeoutKind::Ceiling, limit: timeouts.ceiling });
                }
            }
            task = self.ask_patiently(&id).await?;
        }
    }

    async fn ask_patiently(&self, id: &str) -> Result<Map<String, Value>, CallError> {
        let mut failures = 0;
        loop {
            match self.task(id).await {
                Err(error) if !matches!(error, CallError::Rpc { .. }) && failures < FAILURES && !self.is_closed() => {
                    tracing::debug!(%error, id, "failed to poll the task");
                    failures += 1;
                    tokio::time::sleep(INTERVAL).await;
                }
                input_requests => return input_requests,
            }
        }
    }

    async fn respond_to_task_of(
        &self,
        id: &str,
        input_requests: Map<String, Value>,
        call: Option<CallId>,
    ) -> Result<(), CallError> {
        let responses = self.respond_to_each(input_requests, call).await?;
        self.task_request("tasks/update", json!({ "taskId": id, "inputResponses": responses }), None).await.map(drop)
    }
}

/// The result of a finished task.
fn end_of(task: &mut Map<String, Value>, id: &str) -> Option<Result<Value, CallError>> {
    let malformed = |detail: &str| CallError::MalformedResult { detail: detail.into() };
    Some(match task.get("status").and_then(Value::as_str).unwrap_or_default() {
        "completed" => task.remove("result").ok_or_else(|| malformed("the completed task has no `result`")),
        "cancelled" => Err(CallError::TaskCancelled { id: id.to_owned() }),
        "failed" => Err(task
            .remove("error")
            .and_then(read_error)
            .unwrap_or_else(|| malformed("the failed task has no `error`"))),
        _ => return None,
    })
}

fn read_error(mut error: Value) -> Option<CallError> {
    let data = error.get_mut("data").map(Value::take);
    Some(CallError::Rpc {
        code: error.get("code")?.as_i64()?,
        message: error.get("message").and_then(Value::as_str).unwrap_or_default().to_owned(),
        data,
    })
}

/// Input requests that were not answered before. A server may need time to process a response.
fn new_questions(task: &mut Map<String, Value>, responded: &mut HashSet<String>) -> Option<Map<String, Value>> {
    if task.get("status").and_then(Value::as_str) != Some("input_required") {
        return None;
    }
    let Some(Value::Object(mut input_requests)) = task.remove("inputRequests") else { return None };
    input_requests.retain(|key, _| responded.insert(key.clone()));
    Some(input_requests).filter(|input_requests| !input_requests.is_empty())
}

fn interval(task: &Map<String, Value>) -> Duration {
    let interval = task.get("pollIntervalMs").and_then(Value::as_u64).map(Duration::from_millis);
    interval.unwrap_or(INTERVAL).clamp(INTERVALS.0, INTERVALS.1)
}
