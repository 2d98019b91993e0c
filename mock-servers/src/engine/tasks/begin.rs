//! Whether a call becomes a task, and how it does.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{EXTENSION, Status, Task};
use crate::{
    engine::{
        Defect, Engine, Era, Step,
        exchange::{Exchange, Flow, State},
        message::{Outcome, method, param},
        timers::Timer,
    },
    period::Period,
    script::{Action, Fault, TaskSupport, TaskTimes, Tool},
};

/// How often a client should ask unless the script says otherwise.
const POLL: Duration = Duration::from_millis(100);
/// How long a task is kept unless anybody says otherwise.
const TTL: Duration = Duration::from_secs(3600);
/// How long a task is kept at most, whatever the client wishes.
const LONGEST_TTL: Duration = Duration::from_secs(24 * 3600);

impl Engine {
    /// Decides about a call before its rule's actions are taken: refuses it, makes it a task, or lets it take its time.
    pub(crate) fn prepare_call(&mut self, exchange: &mut Exchange) {
        if exchange.defect.is_some() || method(&exchange.message) != "tools/call" || !exchange.is_request() {
            return;
        }
        let name = param(&exchange.message, "name").and_then(Value::as_str);
        let Some(tool) = name.and_then(|name| self.catalogue.tools.get(name)) else { return };
        let support = tool.task.as_ref().map_or(TaskSupport::Forbidden, |task| task.support);
        let possible = self.task_is_possible(exchange);
        match self.task_defect(exchange, &tool, support, possible) {
            Some(defect) => {
                exchange.defect = Some(defect);
                exchange.remaining.clear();
            }
            None if exchange.remaining.iter().any(|action| matches!(action, Action::Task(_))) => {}
            None if possible && support != TaskSupport::Forbidden => {
                exchange.remaining.push_front(Action::Task(TaskTimes::default()));
            }
            None => {
                let times = tool.task.as_ref().map(|task| task.times()).unwrap_or_default();
                take_time(exchange, &times);
            }
        }
    }

    /// Whether the client can do with a task: it says so with each request (2026-07-28), or asks for one (2025-11-25).
    fn task_is_possible(&self, exchange: &Exchange) -> bool {
        match exchange.era {
            Era::Modern => self.declares_task_extension(exchange),
            Era::Legacy => param(&exchange.message, "task").is_some_and(Value::is_object),
        }
    }

    pub(crate) fn declares_task_extension(&self, exchange: &Exchange) -> bool {
        let declared = self.client_capabilities(exchange);
        declared.and_then(|declared| declared.get("extensions")?.get(EXTENSION)).is_some()
    }

    /// Why the call cannot be answered in the way that the client wants it to be.
    fn task_defect(&self, exchange: &Exchange, tool: &Tool, support: TaskSupport, possible: bool) -> Option<Defect> {
        let revision = exchange.session.and_then(|key| self.agreed_revision(key));
        if !self.has_tasks(exchange.era, revision) {
            // Whoever does not declare tasks ignores what is said about them (2025-11-25, tasks, task support).
            return None;
        }
        match (exchange.era, support, possible) {
            (Era::Modern, TaskSupport::Required, false) => Some(extension_missing()),
            (Era::Legacy, TaskSupport::Required, false) => {
                Some(Defect::new(200, -32601, format!("the tool `{}` is called as a task only", tool.name)))
            }
            (Era::Legacy, TaskSupport::Forbidden, true) => {
                Some(Defect::new(200, -32601, format!("the tool `{}` is not called as a task", tool.name)))
            }
            _ => None,
        }
    }

    /// Goes on as a task, if the client can do with one.
    pub(crate) fn begin_task(
        &mut self,
        exchange: &mut Exchange,
        times: TaskTimes,
        out: &mut Vec<crate::engine::Output>,
    ) -> Flow {
        let revision = exchange.session.and_then(|key| self.agreed_revision(key));
        let asked = exchange.is_request() && exchange.task.is_none() && exchange.state == State::Open;
        let tool =
            param(&exchange.message, "name").and_then(Value::as_str).and_then(|name| self.catalogue.tools.get(name));
        let times =
            times.or(tool.as_ref().and_then(|tool| tool.task.as_ref()).map(|task| task.times()).unwrap_or_default());
        if !asked || !self.has_tasks(exchange.era, revision) || !self.task_is_possible(exchange) {
            take_time(exchange, &times);
            return Flow::Next;
        }
        let mut worker = exchange.clone();
        worker.id = self.new_exchange();
        take_time(&mut worker, &times);
        let task = self.new_task(&worker, &times);
        worker.task = Some(task.id.clone());
        let handle = self.handle(&task);
        if let Some(oldest) = self.tasks.add(task) {
            self.give_way(oldest);
        }
        exchange.remaining.clear();
        self.answer(exchange, Outcome::Result(handle), out);
        self.workers.push_back(worker);
        Flow::Next
    }

    fn new_task(&mut self, worker: &Exchange, times: &TaskTimes) -> Task {
        let wish = param(&worker.message, "task").and_then(|task| task.get("ttl")?.as_u64()).map(Duration::from_millis);
        let ttl = times.ttl.map(|ttl| ttl.0).or(wish.map(|wish| wish.min(LONGEST_TTL))).unwrap_or(TTL);
        let (id, now) = (self.token(), self.time.stamp());
        self.set_timer(ttl, Timer::Task(id.clone()));
        Task {
            id,
            era: worker.era,
            session: worker.session,
            status: Status::Working,
            words: times.status.as_ref().map(|words| worker.facts().fill_text(words)),
            created: now.clone(),
            updated: now,
            ttl,
            poll: times.poll.map_or(POLL, |poll| poll.0),
            outcome: None,
            worker: worker.id,
            questions: Map::new(),
            keys: Default::default(),
            used: Default::default(),
            requests: Vec::new(),
            waiting: Vec::new(),
        }
    }

    /// The result that hands the task out.
    fn handle(&self, task: &Task) -> Value {
        match task.era {
            Era::Legacy => json!({ "task": task.legacy() }),
            Era::Modern => self.task_result(task.seed(), "task"),
        }
    }

    /// Runs the workers that have come about while a message was dealt with.
    pub(crate) fn run_workers(&mut self, out: &mut Vec<crate::engine::Output>) {
        while let Some(worker) = self.workers.pop_front() {
            self.run(worker, out);
        }
        out.append(&mut self.asides);
    }
}

/// Puts the time that the work takes before everything else.
fn take_time(exchange: &mut Exchange, times: &TaskTimes) {
    let facts = exchange.facts();
    let after = times.after.as_ref().and_then(|after| after.resolve(|text| facts.fill_text(text)));
    if let Some(after) = after.filter(|after| !after.0.is_zero()) {
        exchange.remaining.push_front(Action::Fault(Fault::Delay(Period(after.0))));
    }
}

/// The refusal of a client that does not declare the extension (SEP-2663, capability negotiation).
pub(crate) fn extension_missing() -> Defect {
    Defect {
        status: 400,
        code: -32021,
        message: format!("the client does not declare the extension `{EXTENSION}`"),
        data: Some(json!({ "requiredCapabilities": { "extensions": { EXTENSION: {} } } })),
    }
}

impl Task {
    /// What both kinds of task say about themselves, with the names that the extension has for it.
    pub(super) fn seed(&self) -> Map<String, Value> {
        let mut members = self.core();
        members.insert("ttlMs".into(), crate::engine::time::millis(self.ttl).into());
        members.insert("pollIntervalMs".into(), crate::engine::time::millis(self.poll).into());
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
    /// Whether a worker may do this: what it says goes elsewhere, and it has no connection to close.
    pub(crate) fn is_for_workers(&self) -> bool {
        matches!(self, Self::Wake(_) | Self::Exit(_) | Self::End)
    }
}
