//! Calls that become tasks (the extension `io.modelcontextprotocol/tasks`, on 2026-07-28): asked about until they end.

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Map, Value, json};
use tokio::time::{Instant, timeout_at};

use super::{
    connection::{Connection, Patience},
    defect::Defect,
    fault::Fault,
};

/// How often to ask where the server does not say.
const POLL: Duration = Duration::from_millis(500);

impl Connection {
    /// The result of a call: what was answered, or what the task ends with that it has become.
    pub(crate) async fn see_to_the_end(&self, answered: Value, patience: &Patience) -> Result<Value, Fault> {
        if answered["resultType"] != "task" || self.flaw.is(Defect::TakesTasksForResults) {
            return Ok(answered);
        }
        let end = Instant::now() + patience.silence;
        let id = answered["taskId"].clone();
        let Ok(ended) = timeout_at(end, self.follow(answered, patience)).await else {
            self.let_go(&id, patience).await?;
            return Err(Fault::new("timed-out", "the task did not end in time"));
        };
        ended
    }

    /// Nobody waits for the task any more.
    async fn let_go(&self, id: &Value, patience: &Patience) -> Result<(), Fault> {
        if !self.flaw.is(Defect::LeavesTasksRunning) {
            let own = Patience::of(patience.silence);
            self.request_once("tasks/cancel", json!({ "taskId": id }), &own).await?;
        }
        Ok(())
    }

    async fn follow(&self, mut task: Value, patience: &Patience) -> Result<Value, Fault> {
        let id = task["taskId"].clone();
        let mut seen = BTreeSet::new();
        loop {
            match task["status"].as_str().unwrap_or_default() {
                "completed" => return Ok(task["result"].take()),
                "failed" if self.flaw.is(Defect::HidesFailedTasks) => return Ok(json!({ "content": [] })),
                "failed" => return Err(Fault::rpc(&task["error"])),
                "cancelled" => return Err(Fault::new("cancelled", "the server has cancelled the task")),
                "input_required" if !self.flaw.is(Defect::LeavesTasksWaiting) => {
                    let asked = task["inputRequests"].as_object().cloned().unwrap_or_default();
                    let fresh: Map<_, _> = asked.into_iter().filter(|(key, _)| seen.insert(key.clone())).collect();
                    if !fresh.is_empty() {
                        let answers = self.answers(&fresh)?;
                        let params = json!({ "taskId": id, "inputResponses": answers });
                        self.request_once("tasks/update", params, patience).await?;
                    }
                }
                _ => {}
            }
            let poll = task["pollIntervalMs"].as_u64().map_or(POLL, Duration::from_millis);
            let poll = if self.flaw.is(Defect::AsksAboutTasksAllTheTime) { Duration::from_millis(20) } else { poll };
            tokio::select! {
                () = patience.cancel.cancelled() => {
                    self.let_go(&id, patience).await?;
                    return Err(Fault::new("cancelled", "the task was given up"));
                }
                () = tokio::time::sleep(poll) => {}
            }
            task = self.request_once("tasks/get", json!({ "taskId": id }), patience).await?;
        }
    }
}
