//! Tasks: calls that get a handle as response, and run in the background.
//!
//! There are two kinds: the tasks of 2025-11-25 (basic, utilities, tasks), which the client requests, and the extension
//! `io.modelcontextprotocol/tasks` of 2026-07-28 (SEP-2663), where the server decides. In both, the task executes the
//! rest of its rule, or the default behavior. It does so in a dispatch of its own, the worker, which has no message and
//! whose response is the task's outcome.

mod begin;
mod input;
mod legacy;
mod modern;

pub(crate) use self::begin::extension_missing;

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    time::Duration,
};

use serde_json::{Map, Value};

use super::features::Rules;
use super::{
    DispatchId, Engine, Era, Output, SessionKey, Step, Target,
    dispatch::Dispatch,
    message::{Outcome, outgoing},
};

/// The extension's identifier.
pub(crate) const EXTENSION: &str = "io.modelcontextprotocol/tasks";
/// Maximum number of tasks. The oldest is removed for a new one.
const MAX_TASKS: usize = 10_000;

/// Status of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Working,
    InputRequired,
    Completed,
    Failed,
    Cancelled,
}

impl Status {
    fn name(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::InputRequired => "input_required",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Terminal states are never left (2025-11-25, tasks, status lifecycle).
    fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// A task, from its creation to its removal.
#[derive(Debug, Clone)]
struct Task {
    id: String,
    era: Era,
    session: Option<SessionKey>,
    status: Status,
    words: Option<String>,
    created: String,
    updated: String,
    ttl: Duration,
    poll: Duration,
    /// Whether no notifications about its status are sent.
    quiet: bool,
    outcome: Option<Outcome>,
    /// The dispatch of the worker.
    worker: DispatchId,
    /// Requests without a response, under the keys that the client gets; in 2026-07-28.
    input_requests: Map<String, Value>,
    /// The script's keys of those requests, and the number of uses of each.
    keys: HashMap<String, String>,
    used: BTreeMap<String, u32>,
    /// Requests that wait for a stream; in 2025-11-25.
    requests: Vec<Value>,
    /// The `tasks/result` requests that wait for the outcome; in 2025-11-25.
    waiting: Vec<DispatchId>,
}

/// The tasks of one server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tasks {
    by_id: HashMap<String, Task>,
    order: VecDeque<String>,
}

impl Tasks {
    fn add(&mut self, task: Task) -> Option<Task> {
        self.order.push_back(task.id.clone());
        self.by_id.insert(task.id.clone(), task);
        let oldest = (self.order.len() > MAX_TASKS).then(|| self.order.pop_front()).flatten()?;
        self.by_id.remove(&oldest)
    }

    /// The worker of a task whose result this dispatch waits for.
    pub(super) fn worker_for(&self, waiting: DispatchId) -> Option<DispatchId> {
        self.by_id.values().find(|task| task.waiting.contains(&waiting)).map(|task| task.worker)
    }

    fn remove(&mut self, id: &str) -> Option<Task> {
        self.order.retain(|one| one != id);
        self.by_id.remove(id)
    }

    /// Whether a task of the extension has this id.
    pub(crate) fn knows(&self, id: &str) -> bool {
        self.by_id.get(id).is_some_and(|task| task.era == Era::Modern)
    }

    /// Removes the tasks of a closed session.
    pub(crate) fn end_session(&mut self, key: SessionKey) {
        self.by_id.retain(|_, task| task.era == Era::Modern || task.session != Some(key));
        self.order.retain(|id| self.by_id.contains_key(id));
    }
}

impl Engine {
    /// Whether the server has the tasks of this revision.
    pub(crate) fn has_tasks(&self, era: Era, revision: Option<&str>) -> bool {
        match era {
            Era::Modern => self.has_extension(EXTENSION),
            Era::Legacy => revision.and_then(Rules::known).is_some_and(|rules| rules.tasks) && self.has_legacy_tasks(),
        }
    }

    /// Whether the server has tasks for the client that sent this.
    pub(crate) fn serves_tasks(&self, dispatch: &Dispatch) -> bool {
        self.has_tasks(dispatch.era, dispatch.session.and_then(|key| self.negotiated_revision(key)))
    }

    /// Makes a `tasks/result` wait if its task is pending; returns whether it does.
    pub(crate) fn waits_for_task(&mut self, dispatch: &mut Dispatch, out: &mut Vec<Output>) -> bool {
        dispatch.era == Era::Legacy && self.serves_tasks(dispatch) && self.wait_for_task(dispatch, out)
    }

    /// Sets the response of a worker as its task's outcome. In 2025-11-25 an error result of a tool fails the task; in
    /// the extension only a JSON-RPC error does (SEP-2663, task status).
    pub(crate) fn settle_task(&mut self, id: &str, outcome: Outcome) {
        let Some(task) = self.tasks.by_id.get_mut(id).filter(|task| !task.status.is_terminal()) else { return };
        let (status, words) = match &outcome {
            Outcome::Error { message, .. } => (Status::Failed, Some(message.clone())),
            Outcome::Result(result) if task.era == Era::Legacy && result.get("isError") == Some(&true.into()) => {
                let text = result.pointer("/content/0/text").and_then(Value::as_str);
                (Status::Failed, Some(text.unwrap_or("the tool reports an error").to_owned()))
            }
            Outcome::Result(_) => (Status::Completed, None),
        };
        task.outcome = Some(outcome);
        self.set_task_status(id, status, words);
        self.respond_to_waiting(id);
    }

    /// Sets the status message of a task.
    pub(crate) fn set_task_message(&mut self, id: &str, words: String) {
        if let Some(status) = self.tasks.by_id.get(id).map(|task| task.status).filter(|status| !status.is_terminal()) {
            self.set_task_status(id, status, Some(words));
        }
    }

    fn set_task_status(&mut self, id: &str, status: Status, words: Option<String>) {
        let now = self.background.clock.stamp();
        let Some(task) = self.tasks.by_id.get_mut(id) else { return };
        task.status = status;
        task.updated = now;
        task.words = words.or_else(|| task.words.take().filter(|_| !status.is_terminal()));
        self.notify_task_status(id);
    }

    /// Notifies the client of a changed task: its session in 2025-11-25, the streams that requested it in the
    /// extension.
    fn notify_task_status(&mut self, id: &str) {
        let Some(task) = self.tasks.by_id.get(id).filter(|task| !task.quiet) else { return };
        match (task.era, task.session) {
            (Era::Legacy, Some(session)) => {
                let message = outgoing(None, "notifications/tasks/status", Some(task.legacy()));
                self.background.outputs.push(Output::new(Target::Session(session), Step::Send(message)));
            }
            (Era::Legacy, None) => {}
            (Era::Modern, _) => {
                let params = Value::Object(task.detailed());
                self.notify_task_listeners(id, &params);
            }
        }
    }

    /// Stops the worker of a task.
    fn stop_worker(&mut self, worker: DispatchId) {
        self.take(worker);
        self.requests.open.retain(|_, (dispatch, _)| *dispatch != worker);
    }

    /// Removes an expired task.
    pub(crate) fn expire_task(&mut self, id: &str) {
        let Some(task) = self.tasks.remove(id) else { return };
        self.stop_worker(task.worker);
        for waiting in task.waiting {
            self.respond_late(waiting, Outcome::invalid_params("the task has expired"));
        }
    }

    /// Stops a task that was removed because of [`MAX_TASKS`].
    fn evict_task(&mut self, task: Task) {
        self.stop_worker(task.worker);
        for waiting in task.waiting {
            self.respond_late(waiting, Outcome::invalid_params("the task is no longer kept"));
        }
    }

    /// Responds to a waiting request.
    fn respond_late(&mut self, id: DispatchId, outcome: Outcome) {
        let Some(mut dispatch) = self.take(id) else { return };
        let mut out = Vec::new();
        self.respond(&mut dispatch, outcome, &mut out);
        dispatch.push(&mut out, Step::End);
        self.background.outputs.append(&mut out);
    }
}
