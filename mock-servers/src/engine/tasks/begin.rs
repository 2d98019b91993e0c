//! Creation of tasks from calls.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{EXTENSION, Status, Task};
use crate::{
    engine::{
        Engine, Era, Rejection, Step,
        dispatch::{Dispatch, Flow, State},
        message::{Outcome, method, param},
        timers::Timer,
    },
    faults,
    human_duration::HumanDuration,
    script::{Action, Fault, TaskSupport, TaskTimes, Tool},
};

/// Default poll interval.
const POLL: Duration = Duration::from_millis(100);
/// Default lifetime of a task.
const TTL: Duration = Duration::from_secs(3600);
/// Maximum lifetime that a client can request.
const MAX_TTL: Duration = Duration::from_secs(24 * 3600);

impl Engine {
    /// Prepares a call before its rule's actions: rejects it, makes it a task, or adds its work time.
    pub(crate) fn prepare_call(&mut self, dispatch: &mut Dispatch) {
        if dispatch.rejection.is_some() || method(&dispatch.message) != "tools/call" || !dispatch.is_request() {
            return;
        }
        let name = param(&dispatch.message, "name").and_then(Value::as_str);
        let Some(tool) = name.and_then(|name| self.items.lists.tools.get(name)) else { return };
        let support = tool.task.as_ref().map_or(TaskSupport::Forbidden, |task| task.support);
        let possible = self.task_is_possible(dispatch);
        match self.task_rejection(dispatch, &tool, support, possible) {
            Some(rejection) => {
                dispatch.rejection = Some(rejection);
                dispatch.remaining.clear();
            }
            None if dispatch.remaining.iter().any(|action| matches!(action, Action::Task(_))) => {}
            None if possible && support != TaskSupport::Forbidden => {
                dispatch.remaining.push_front(Action::Task(TaskTimes::default()));
            }
            None => {
                let times = tool.task.as_ref().map(|task| task.times()).unwrap_or_default();
                add_work_time(dispatch, &times);
            }
        }
    }

    /// Whether the client supports a task: it declares that in each request (2026-07-28), or requests one (2025-11-25).
    fn task_is_possible(&self, dispatch: &Dispatch) -> bool {
        match dispatch.era {
            Era::Modern => self.declares_task_extension(dispatch),
            Era::Legacy => param(&dispatch.message, "task").is_some_and(Value::is_object),
        }
    }

    pub(crate) fn declares_task_extension(&self, dispatch: &Dispatch) -> bool {
        let declared = self.client_capabilities(dispatch);
        declared.and_then(|declared| declared.get("extensions")?.get(EXTENSION)).is_some()
    }

    /// The rejection of a call that cannot be executed in the requested way.
    fn task_rejection(
        &self,
        dispatch: &Dispatch,
        tool: &Tool,
        support: TaskSupport,
        possible: bool,
    ) -> Option<Rejection> {
        let revision = dispatch.session.and_then(|key| self.negotiated_revision(key));
        if !self.has_tasks(dispatch.era, revision) {
            // A server without the capability ignores task parameters (2025-11-25, tasks, task support).
            return None;
        }
        match (dispatch.era, support, possible) {
            (Era::Modern, TaskSupport::Required, false) => Some(extension_missing()),
            (Era::Legacy, TaskSupport::Required, false) => {
                Some(Rejection::new(200, -32601, format!("the tool `{}` is called as a task only", tool.name)))
            }
            (Era::Legacy, TaskSupport::Forbidden, true) => {
                Some(Rejection::new(200, -32601, format!("the tool `{}` is not called as a task", tool.name)))
            }
            _ => None,
        }
    }

    /// Continues as a task, if the client supports it.
    pub(crate) fn begin_task(
        &mut self,
        dispatch: &mut Dispatch,
        times: TaskTimes,
        out: &mut Vec<crate::engine::Output>,
    ) -> Flow {
        let revision = dispatch.session.and_then(|key| self.negotiated_revision(key));
        let asked = dispatch.is_request() && dispatch.task.is_none() && dispatch.state == State::Open;
        let tool =
            param(&dispatch.message, "name").and_then(Value::as_str).and_then(|name| self.items.lists.tools.get(name));
        let times =
            times.or(tool.as_ref().and_then(|tool| tool.task.as_ref()).map(|task| task.times()).unwrap_or_default());
        if !asked || !self.has_tasks(dispatch.era, revision) || !self.task_is_possible(dispatch) {
            add_work_time(dispatch, &times);
            return Flow::Next;
        }
        let mut worker = dispatch.clone();
        worker.id = self.new_dispatch();
        add_work_time(&mut worker, &times);
        let task = self.new_task(&worker, &times);
        worker.task = Some(task.id.clone());
        let handle = self.handle(&task);
        if let Some(oldest) = self.tasks.add(task) {
            self.evict_task(oldest);
        }
        dispatch.remaining.clear();
        self.respond(dispatch, Outcome::Result(handle), out);
        self.background.workers.push_back(worker);
        Flow::Next
    }

    fn new_task(&mut self, worker: &Dispatch, times: &TaskTimes) -> Task {
        let wish = param(&worker.message, "task").and_then(|task| task.get("ttl")?.as_u64()).map(Duration::from_millis);
        let ttl = times.ttl.map(|ttl| ttl.0).or(wish.map(|wish| wish.min(MAX_TTL))).unwrap_or(TTL);
        let (id, now) = (self.token(), self.background.clock.stamp());
        self.set_timer(ttl, Timer::Task(id.clone()));
        Task {
            id,
            era: worker.era,
            session: worker.session,
            status: Status::Working,
            words: times.status.as_ref().map(|words| worker.context().fill_text(words)),
            created: now.clone(),
            updated: now,
            ttl,
            poll: times.poll.map_or(POLL, |poll| poll.0),
            quiet: times.quiet,
            outcome: None,
            worker: worker.id,
            input_requests: Map::new(),
            keys: Default::default(),
            used: Default::default(),
            requests: Vec::new(),
            waiting: Vec::new(),
        }
    }

    /// The result with the task.
    fn handle(&self, task: &Task) -> Value {
        match task.era {
            Era::Legacy => json!({ "task": task.legacy() }),
            Era::Modern => self.task_result(task.seed(), "task"),
        }
    }

    /// Runs the workers that an input started.
    pub(crate) fn run_workers(&mut self, out: &mut Vec<crate::engine::Output>) {
        while let Some(worker) = self.background.workers.pop_front() {
            self.run(worker, out);
        }
        out.append(&mut self.background.outputs);
    }
}

/// Adds the work time before all other actions.
fn add_work_time(dispatch: &mut Dispatch, times: &TaskTimes) {
    let context = dispatch.context();
    let after = times.after.as_ref().and_then(|after| after.resolve(|text| context.fill_text(text)));
    if let Some(after) = after.filter(|after| !after.0.is_zero()) {
        dispatch.remaining.push_front(Action::Fault(Fault::Delay(faults::Delay(HumanDuration(after.0)))));
    }
}

/// The rejection of a client that does not declare the extension (SEP-2663, capability negotiation).
pub(crate) fn extension_missing() -> Rejection {
    Rejection {
        status: 400,
        code: -32021,
        message: format!("the client does not declare the extension `{EXTENSION}`"),
        data: Some(json!({ "requiredCapabilities": { "extensions": { EXTENSION: {} } } })),
    }
}

impl Task {
    /// The members of both kinds of tasks, with the names of the extension.
    pub(super) fn seed(&self) -> Map<String, Value> {
        let mut members = self.core();
        members.insert("ttlMs".into(), crate::engine::clock::millis(self.ttl).into());
        members.insert("pollIntervalMs".into(), crate::engine::clock::millis(self.poll).into());
        members
    }

    pub(super) fn core(&self) -> Map<String, Value> {
        let mut members = Map::new();
        members.insert("taskId".into(), self.id.clone().into());
        members.insert("status".into(), self.status.name().into());
        if let Some(words) = &self.words {
            members.insert("statusMessage".into(), words.clone().into());
        }
        members.insert("createdAt".into(), self.created.clone().into());
        members.insert("lastUpdatedAt".into(), self.updated.clone().into());
        members
    }
}

impl Step {
    /// Whether a worker can do this: it has no connection and no stream.
    pub(crate) fn is_for_workers(&self) -> bool {
        matches!(self, Self::Wake(_) | Self::Exit(_) | Self::End)
    }
}
