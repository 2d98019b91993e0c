//! Tasks: results that come later, asked for by their id (the extension `io.modelcontextprotocol/tasks`, on 2026-07-28).
//!
//! A call whose [`crate::ToolResult::result_type`] is `task` has become one. When to ask again is the caller's to decide.

use serde_json::{Map, Value, json};

use super::Connection;
use crate::{error::CallError, revision::Era};

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
        let answers = self.answer_each(asked, None).await?;
        self.of_task("tasks/update", json!({ "taskId": id, "inputResponses": answers }), None).await.map(drop)
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
}
