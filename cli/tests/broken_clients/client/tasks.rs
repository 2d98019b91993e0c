//! Calls that become tasks: calls as tasks of 2025-11-25, and the extension `io.modelcontextprotocol/tasks` of 2026-07-28.

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Map, Value, json};
use tokio::time::{Instant, timeout_at};

use super::{
    connection::{Connection, RequestTimeouts},
    defect::Defect,
    fault::Fault,
};

/// Default interval between polls.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

impl Connection {
    /// The result of a call, or of the task that it became.
    pub(crate) async fn await_task(&self, mut response: Value, timeouts: &RequestTimeouts) -> Result<Value, Fault> {
        let task = match response["resultType"] == "task" {
            true => response,
            false if response["task"].is_object() => response["task"].take(),
            false => return Ok(response),
        };
        if self.flaw.is(Defect::TakesTasksForResults) {
            return Ok(task);
        }
        let end = Instant::now() + timeouts.silence;
        let id = task["taskId"].clone();
        let Ok(result) = timeout_at(end, self.follow(task, timeouts)).await else {
            self.cancel_task(&id, timeouts).await?;
            return Err(Fault::new("timed-out", "the task did not finish in time"));
        };
        result
    }

    /// Cancels a task.
    async fn cancel_task(&self, id: &Value, timeouts: &RequestTimeouts) -> Result<(), Fault> {
        if !self.flaw.is(Defect::LeavesTasksRunning) {
            let own = RequestTimeouts::new(timeouts.silence);
            self.request_once("tasks/cancel", json!({ "taskId": id }), &own).await?;
        }
        Ok(())
    }

    async fn follow(&self, mut task: Value, timeouts: &RequestTimeouts) -> Result<Value, Fault> {
        let id = task["taskId"].clone();
        let mut seen = BTreeSet::new();
        let mut first = None;
        // The end of the wait cancels the task, and not a request about it.
        let own = RequestTimeouts::new(timeouts.silence);
        loop {
            match task["status"].as_str().unwrap_or_default() {
                // The request for the result waits, also while the server asks the user.
                status if !self.modern && status != "working" => {
                    return self.request_once("tasks/result", json!({ "taskId": id }), &own).await;
                }
                "completed" => return Ok(task["result"].take()),
                "failed" if self.flaw.is(Defect::HidesFailedTasks) => return Ok(json!({ "content": [] })),
                "failed" => return Err(Fault::rpc(&task["error"])),
                "cancelled" => return Err(Fault::new("cancelled", "the server canceled the task")),
                "input_required" if !self.flaw.is(Defect::LeavesTasksWaiting) => {
                    let asked = task["inputRequests"].as_object().cloned().unwrap_or_default();
                    let mut is_fresh =
                        |key: &String| seen.insert(key.clone()) || self.flaw.is(Defect::AnswersInputAgain);
                    let fresh: Map<_, _> = asked.into_iter().filter(|(key, _)| is_fresh(key)).collect();
                    if !fresh.is_empty() {
                        let answers = self.answers(&fresh)?;
                        let params = json!({ "taskId": id, "inputResponses": answers });
                        self.request_once("tasks/update", params, &own).await?;
                    }
                }
                _ => {}
            }
            let poll = if self.modern { &task["pollIntervalMs"] } else { &task["pollInterval"] };
            let poll = poll.as_u64().map_or(POLL_INTERVAL, Duration::from_millis);
            let first = *first.get_or_insert(poll);
            let poll = if self.flaw.is(Defect::KeepsFirstInterval) { first } else { poll };
            let poll = if self.flaw.is(Defect::AsksAboutTasksAllTheTime) { Duration::from_millis(20) } else { poll };
            tokio::select! {
                () = timeouts.cancel.cancelled() => {
                    self.cancel_task(&id, timeouts).await?;
                    return Err(Fault::new("cancelled", "the call was canceled"));
                }
                () = tokio::time::sleep(poll) => {}
            }
            task = self.request_once("tasks/get", json!({ "taskId": id }), &own).await?;
        }
    }
}
