//! Tasks: calls that are answered with a handle first, and done in the background.
//!
//! There are two kinds: the tasks of 2025-11-25 (basic, utilities, tasks), which the client asks for, and the extension
//! `io.modelcontextprotocol/tasks` of 2026-07-28 (SEP-2663), where the server decides. In both, the task does what the
//! call would have done: the rest of its rule, or the default answer. That part is an exchange of its own, the worker,
//! which no message opened and whose answer is the task's outcome.

mod begin;
mod input;
mod legacy;
mod modern;

pub(crate) use self::begin::extension_missing;

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    time::Duration,
};

use serde_json::{Map, Value, json};

use super::{
    Engine, Era, ExchangeId, Output, SessionKey, Step, Target,
    exchange::Exchange,
    message::{Outcome, outgoing},
};

/// The extension's identifier.
pub(crate) const EXTENSION: &str = "io.modelcontextprotocol/tasks";
/// The member of `_meta` that tells which task a message belongs to, in 2025-11-25.
const RELATED_KEY: &str = "io.modelcontextprotocol/related-task";

/// How many tasks are kept. The oldest gives way to a new one.
const MOST_TASKS: usize = 10_000;

/// How a task stands.
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

/// A task, from its creation until it is forgotten.
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
    outcome: Option<Outcome>,
    /// The exchange that does what the task is for.
    worker: ExchangeId,
    /// Questions that the client has not answered yet, under the keys that it knows them by; in 2026-07-28.
    questions: Map<String, Value>,
    /// The script's keys of those questions, and how often each key has been used.
    keys: HashMap<String, String>,
    used: BTreeMap<String, u32>,
    /// Requests of the server's own that wait for a stream to go out on; in 2025-11-25.
    requests: Vec<Value>,
    /// Which `tasks/result` requests wait for the outcome; in 2025-11-25.
    waiting: Vec<ExchangeId>,
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
        let oldest = (self.order.len() > MOST_TASKS).then(|| self.order.pop_front()).flatten()?;
        self.by_id.remove(&oldest)
    }

    /// The exchange that does the work of a task whose result this exchange waits for.
    pub(super) fn worker_for(&self, waiting: ExchangeId) -> Option<ExchangeId> {
        self.by_id.values().find(|task| task.waiting.contains(&waiting)).map(|task| task.worker)
    }

    fn remove(&mut self, id: &str) -> Option<Task> {
        self.order.retain(|one| one != id);
        self.by_id.remove(id)
    }

    /// Whether there is such a task of the extension.
    pub(crate) fn knows(&self, id: &str) -> bool {
        self.by_id.get(id).is_some_and(|task| task.era == Era::Modern)
    }

    /// Forgets the tasks of a session that has ended.
    pub(crate) fn end_session(&mut self, key: SessionKey) {
        self.by_id.retain(|_, task| task.era == Era::Modern || task.session != Some(key));
        self.order.retain(|id| self.by_id.contains_key(id));
    }
}

impl Engine {
    /// Whether the server has tasks of the kind that this revision knows.
    pub(crate) fn has_tasks(&self, era: Era, revision: Option<&str>) -> bool {
        match era {
            Era::Modern => self.has_extension(EXTENSION),
            Era::Legacy => revision == Some(super::LEGACY[3]) && self.has_legacy_tasks(),
        }
    }

    /// Whether the server has tasks for the client that sent this.
    pub(crate) fn serves_tasks(&self, exchange: &Exchange) -> bool {
        self.has_tasks(exchange.era, exchange.session.and_then(|key| self.agreed_revision(key)))
    }

    /// Whether this is a `tasks/result` that has to wait, and now does.
    pub(crate) fn waits_for_task(&mut self, exchange: &mut Exchange, out: &mut Vec<Output>) -> bool {
        exchange.era == Era::Legacy && self.serves_tasks(exchange) && self.wait_for_task(exchange, out)
    }

    /// The answer of a task's worker is the task's outcome. In 2025-11-25 a tool's own error makes the task a failed
    /// one; in the extension only a JSON-RPC error does (SEP-2663, task status).
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
        self.answer_those_waiting(id);
    }

    /// Gives a task another message; its status stays.
    pub(crate) fn word_task(&mut self, id: &str, words: String) {
        if let Some(status) = self.tasks.by_id.get(id).map(|task| task.status).filter(|status| !status.is_terminal()) {
            self.set_task_status(id, status, Some(words));
        }
    }

    fn set_task_status(&mut self, id: &str, status: Status, words: Option<String>) {
        let now = self.time.stamp();
        let Some(task) = self.tasks.by_id.get_mut(id) else { return };
        task.status = status;
        task.updated = now;
        task.words = words.or_else(|| task.words.take().filter(|_| !status.is_terminal()));
        self.tell_task_status(id);
    }

    /// Tells the client that a task has moved on: its session in 2025-11-25, the streams that asked for it in the
    /// extension.
    fn tell_task_status(&mut self, id: &str) {
        let Some(task) = self.tasks.by_id.get(id) else { return };
        match (task.era, task.session) {
            (Era::Legacy, Some(session)) => {
                let message = outgoing(None, "notifications/tasks/status", Some(task.legacy()));
                self.asides.push(Output::new(Target::Session(session), Step::Send(message)));
            }
            (Era::Legacy, None) => {}
            (Era::Modern, _) => {
                let params = Value::Object(task.detailed());
                self.tell_listeners_of_task(id, &params);
            }
        }
    }

    /// Ends the work of a task that is no longer wanted.
    fn stop_worker(&mut self, worker: ExchangeId) {
        self.take(worker);
        self.asked.retain(|_, (exchange, _)| *exchange != worker);
    }

    /// A task has outlived its time.
    pub(crate) fn expire_task(&mut self, id: &str) {
        let Some(task) = self.tasks.remove(id) else { return };
        self.stop_worker(task.worker);
        for waiting in task.waiting {
            self.answer_late(waiting, Outcome::invalid_params("the task has expired"));
        }
    }

    /// Forgets the oldest of too many tasks.
    fn give_way(&mut self, task: Task) {
        self.stop_worker(task.worker);
        for waiting in task.waiting {
            self.answer_late(waiting, Outcome::invalid_params("the task is no longer kept"));
        }
    }

    /// Answers a request that has waited, along with whatever is said just now.
    fn answer_late(&mut self, id: ExchangeId, outcome: Outcome) {
        let Some(mut exchange) = self.take(id) else { return };
        let mut out = Vec::new();
        self.answer(&mut exchange, outcome, &mut out);
        exchange.push(&mut out, Step::End);
        self.asides.append(&mut out);
    }
}

/// The metadata that ties a message to its task (2025-11-25, tasks, related task metadata).
pub(crate) fn relate(members: &mut Value, task: &str) {
    if !members.is_object() {
        *members = json!({});
    }
    if !members["_meta"].is_object() {
        members["_meta"] = json!({});
    }
    members["_meta"][RELATED_KEY] = json!({ "taskId": task });
}
