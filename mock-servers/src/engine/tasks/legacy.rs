//! The methods of 2025-11-25 (basic, utilities, tasks).

use serde_json::{Map, Value, json};

use super::{Status, Task};
use crate::engine::{
    Engine, Era, Output, SessionKey,
    clock::millis,
    dispatch::{Dispatch, State},
    message::{Outcome, method, param},
};

impl Engine {
    /// The outcome of `tasks/get`, `tasks/list` or `tasks/cancel`, and of a `tasks/result` that does not wait.
    pub(crate) fn legacy_task_method(&mut self, dispatch: &Dispatch) -> Outcome {
        if method(&dispatch.message) == "tasks/list" {
            return self.list_tasks(dispatch);
        }
        let Some(id) = self.named_task(dispatch) else { return Outcome::invalid_params("task not found") };
        match method(&dispatch.message) {
            "tasks/cancel" => self.cancel_legacy(&id),
            "tasks/result" => {
                let outcome = self.tasks.by_id.get(&id).and_then(Task::related_outcome);
                outcome.unwrap_or_else(|| Outcome::error(-32603, "the task is not done yet"))
            }
            _ => Outcome::Result(self.tasks.by_id.get(&id).map(Task::legacy).unwrap_or_default()),
        }
    }

    /// Makes a `tasks/result` wait for its task, and sends it the task's requests; returns whether it waits.
    pub(crate) fn wait_for_task(&mut self, dispatch: &mut Dispatch, out: &mut Vec<Output>) -> bool {
        let Some(id) = self.named_task(dispatch) else { return false };
        let Some(task) = self.tasks.by_id.get_mut(&id).filter(|task| task.outcome.is_none()) else { return false };
        task.waiting.push(dispatch.id);
        dispatch.state = State::Held;
        self.send_task_requests(&id, dispatch.id, out);
        true
    }

    /// The task that a request names, if it belongs to the request's session, which identifies the client here (tasks,
    /// task isolation and access control).
    fn named_task(&self, dispatch: &Dispatch) -> Option<String> {
        let id = param(&dispatch.message, "taskId").and_then(Value::as_str)?;
        self.tasks.by_id.get(id).filter(|task| task.is_of(dispatch.session)).map(|task| task.id.clone())
    }

    fn cancel_legacy(&mut self, id: &str) -> Outcome {
        let Some(task) = self.tasks.by_id.get_mut(id) else { return Outcome::invalid_params("task not found") };
        if task.status.is_terminal() {
            let status = task.status.name();
            return Outcome::invalid_params(format!("cannot cancel task: already in terminal status '{status}'"));
        }
        let worker = task.worker;
        task.outcome = Some(Outcome::error(-32603, "the task was cancelled"));
        task.requests.clear();
        self.stop_worker(worker);
        self.set_task_status(id, Status::Cancelled, Some("The task was cancelled by request.".into()));
        self.respond_to_waiting(id);
        Outcome::Result(self.tasks.by_id.get(id).map(Task::legacy).unwrap_or_default())
    }

    fn list_tasks(&self, dispatch: &Dispatch) -> Outcome {
        let from = match param(&dispatch.message, "cursor") {
            None => Some(0),
            Some(cursor) => cursor.as_str().and_then(|cursor| self.pagination.extension_cursors.decode(cursor)),
        };
        let of_session = |id: &&String| self.tasks.by_id.get(*id).is_some_and(|task| task.is_of(dispatch.session));
        let ids: Vec<_> = self.tasks.order.iter().filter(of_session).collect();
        let Some(from) = from.filter(|from| *from == 0 || *from < ids.len()) else {
            return Outcome::invalid_params("unknown cursor");
        };
        let count = self.pagination.page_size.unwrap_or(usize::MAX).max(1);
        let page = ids.iter().skip(from).take(count).filter_map(|id| self.tasks.by_id.get(*id)).map(Task::legacy);
        let mut result = Map::from_iter([("tasks".to_owned(), page.collect::<Vec<_>>().into())]);
        if from.saturating_add(count) < ids.len() {
            result.insert("nextCursor".into(), self.pagination.extension_cursors.encode(from + count).into());
        }
        Outcome::Result(result.into())
    }
}

impl Task {
    fn is_of(&self, session: Option<SessionKey>) -> bool {
        self.era == Era::Legacy && self.session == session
    }

    /// The task in the form of 2025-11-25.
    pub(super) fn legacy(&self) -> Value {
        let mut members = self.core();
        members.insert("ttl".into(), json!(millis(self.ttl)));
        members.insert("pollInterval".into(), json!(millis(self.poll)));
        members.into()
    }
}
