//! The methods of the extension `io.modelcontextprotocol/tasks` (SEP-2663).

use serde_json::{Map, Value};

use super::{Status, Task, extension_missing};
use crate::engine::{
    Engine, Era,
    dispatch::Dispatch,
    message::{Outcome, SERVER_INFO_KEY, method, param},
};

impl Engine {
    /// The outcome of `tasks/get`, `tasks/update` or `tasks/cancel`. Clients that do not declare the extension get no
    /// information about tasks.
    pub(crate) fn modern_task_method(&mut self, dispatch: &Dispatch) -> Outcome {
        if !self.declares_task_extension(dispatch) {
            return extension_missing().into();
        }
        let id = param(&dispatch.message, "taskId").and_then(Value::as_str).filter(|id| self.tasks.knows(id));
        let Some(id) = id.map(str::to_owned) else { return Outcome::invalid_params("task not found") };
        match method(&dispatch.message) {
            "tasks/get" => {
                let members = self.tasks.by_id.get(&id).map(Task::detailed).unwrap_or_default();
                Outcome::Result(self.task_result(members, "complete"))
            }
            "tasks/update" => {
                let Some(responses) = param(&dispatch.message, "inputResponses").and_then(Value::as_object) else {
                    return Outcome::invalid_params("`inputResponses` is not an object");
                };
                match self.update_task(&id, responses) {
                    Ok(()) => Outcome::Result(self.task_result(Map::new(), "complete")),
                    Err(words) => Outcome::invalid_params(words),
                }
            }
            _ => {
                self.cancel_modern(&id);
                Outcome::Result(self.task_result(Map::new(), "complete"))
            }
        }
    }

    /// A finished task does not change, and the response does not show it (task cancellation).
    fn cancel_modern(&mut self, id: &str) {
        let Some(task) = self.tasks.by_id.get_mut(id).filter(|task| !task.status.is_terminal()) else { return };
        let worker = task.worker;
        task.input_requests.clear();
        self.stop_worker(worker);
        self.set_task_status(id, Status::Cancelled, Some("The task was cancelled by request.".into()));
    }

    /// A result of the extension, with its type and the server's identity.
    pub(super) fn task_result(&self, members: Map<String, Value>, kind: &str) -> Value {
        let mut result = Map::from_iter([("resultType".to_owned(), Value::from(kind))]);
        result.extend(members);
        result.insert("_meta".into(), serde_json::json!({ SERVER_INFO_KEY: self.identity() }));
        result.into()
    }
}

impl Task {
    /// The task in the form of `tasks/get` and `notifications/tasks`: with its requests, its result or its error.
    pub(super) fn detailed(&self) -> Map<String, Value> {
        debug_assert_eq!(self.era, Era::Modern, "the handshake revisions write tasks in another way");
        let mut members = self.seed();
        match (self.status, &self.outcome) {
            (Status::InputRequired, _) => {
                members.insert("inputRequests".into(), self.input_requests.clone().into());
            }
            (Status::Completed, Some(Outcome::Result(result))) => {
                members.insert("result".into(), result.clone());
            }
            (Status::Failed, Some(outcome @ Outcome::Error { .. })) => {
                let mut response = outcome.clone().response(None);
                members.insert("error".into(), response["error"].take());
            }
            _ => {}
        }
        members
    }
}
