//! Tasks: results that come later, asked for by their id (the extension `io.modelcontextprotocol/tasks`, on 2026-07-28).
//!
//! A call that has become one is waited for unless its [`crate::CallOptions`] say otherwise. Otherwise, and wherever an id was
//! kept from before, when to ask again is the caller's to decide.

use std::{collections::HashSet, time::Duration};

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{Connection, Patience};
use crate::{
    error::{CallError, Clock},
    event::CallId,
    revision::Era,
};

/// How often to ask where the server does not say.
const INTERVAL: Duration = Duration::from_secs(1);
/// No server is asked more often than this, or less often than that, whatever it says.
const INTERVALS: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(60));
/// How often in a row asking may fail: a task outlives what happens on the way to it.
const FAILURES: u32 = 3;

/// A task that is cancelled when nobody waits for it any more.
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
    /// The state of a task: its status, and with it what it asks for, its result, or its error.
    ///
    /// # Errors
    /// A [`CallError`]; [`CallError::NotInRevision`] in the legacy era.
    pub async fn task(&self, id: &str) -> Result<Map<String, Value>, CallError> {
        self.of_task("tasks/get", json!({ "taskId": id }), Some("status")).await
    }

    /// Has the user answer what a task asks for, and sends the answers: `asked` is the `inputRequests` of its state.
    ///
    /// # Errors
    /// As [`Self::task`], and [`CallError::InputRefused`].
    pub async fn answer_task(&self, id: &str, asked: Map<String, Value>) -> Result<(), CallError> {
        self.answer_task_of(id, asked, None).await
    }

    /// Asks for the end of a task; whether it is heard shows in its state.
    ///
    /// # Errors
    /// As [`Self::task`].
    pub async fn cancel_task(&self, id: &str) -> Result<(), CallError> {
        self.of_task("tasks/cancel", json!({ "taskId": id }), None).await.map(drop)
    }

    async fn of_task(
        &self,
        method: &'static str,
        params: Value,
        field: Option<&str>,
    ) -> Result<Map<String, Value>, CallError> {
        match self.era() {
            Era::Modern => self.plain(method, params, field).await,
            Era::Legacy => Err(CallError::NotInRevision { method: method.to_owned() }),
        }
    }

    /// Waits for the result of the task that a call has become. Given up, by its clock, its caller, or because the future was
    /// dropped, the task is cancelled at the server.
    pub(crate) async fn task_result(
        &self,
        mut task: Map<String, Value>,
        call: CallId,
        patience: &Patience,
    ) -> Result<Value, CallError> {
        let Some(id) = task.get("taskId").and_then(Value::as_str).map(str::to_owned) else {
            return Err(CallError::MalformedResult { detail: "the task has no `taskId`".into() });
        };
        let mut wanted = Wanted { connection: self.clone(), id: Some(id.clone()) };
        let begun = Instant::now();
        let (mut with_the_user, mut answered) = (Duration::ZERO, HashSet::new());
        loop {
            if let Some(end) = end_of(&mut task, &id) {
                wanted.id = None;
                return end;
            }
            if let Some(asked) = new_questions(&mut task, &mut answered) {
                let since = Instant::now();
                tokio::select! {
                    biased;
                    () = patience.cancel.cancelled() => return Err(CallError::Cancelled),
                    given = self.answer_task_of(&id, asked, Some(call)) => given?,
                }
                with_the_user += since.elapsed();
            }
            let left = (patience.ceiling + with_the_user).saturating_sub(begun.elapsed());
            tokio::select! {
                biased;
                () = patience.cancel.cancelled() => return Err(CallError::Cancelled),
                () = self.inner.ledger.over.cancelled() => return Err(self.lost().await),
                () = tokio::time::sleep(interval(&task)), if left > interval(&task) => {}
                () = tokio::time::sleep(left) => {
                    return Err(CallError::TimedOut { clock: Clock::Ceiling, limit: patience.ceiling });
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
                    tracing::debug!(%error, id, "the task could not be asked for");
                    failures += 1;
                    tokio::time::sleep(INTERVAL).await;
                }
                asked => return asked,
            }
        }
    }

    async fn answer_task_of(&self, id: &str, asked: Map<String, Value>, call: Option<CallId>) -> Result<(), CallError> {
        let answers = self.answer_each(asked, call).await?;
        self.of_task("tasks/update", json!({ "taskId": id, "inputResponses": answers }), None).await.map(drop)
    }
}

/// What came of a task that is over.
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

/// What the task asks for, as far as it was not answered before: a server may take a moment to see an answer.
fn new_questions(task: &mut Map<String, Value>, answered: &mut HashSet<String>) -> Option<Map<String, Value>> {
    if task.get("status").and_then(Value::as_str) != Some("input_required") {
        return None;
    }
    let Some(Value::Object(mut asked)) = task.remove("inputRequests") else { return None };
    asked.retain(|key, _| answered.insert(key.clone()));
    Some(asked).filter(|asked| !asked.is_empty())
}

fn interval(task: &Map<String, Value>) -> Duration {
    let said = task.get("pollIntervalMs").and_then(Value::as_u64).map(Duration::from_millis);
    said.unwrap_or(INTERVAL).clamp(INTERVALS.0, INTERVALS.1)
}
