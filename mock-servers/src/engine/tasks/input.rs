//! Requests of a running task to the client.

use serde_json::{Map, Value};

use super::Status;
use crate::engine::{
    DispatchId, Engine, Output, Step, Target,
    dispatch::{Dispatch, Flow},
    inputs::flaw,
    message::{Outcome, relate},
};

impl Engine {
    /// Asks in the manner of the extension: `tasks/get` shows the questions, `tasks/update` brings the answers.
    pub(crate) fn ask_in_task(
        &mut self,
        dispatch: &mut Dispatch,
        asked: Map<String, Value>,
        _: &mut Vec<Output>,
    ) -> Flow {
        let Some(id) = dispatch.task.clone() else { return Flow::Next };
        let Some(task) = self.tasks.by_id.get_mut(&id) else { return Flow::Next };
        dispatch.inputs.await_answers(asked.len());
        for (key, question) in asked {
            // A key is never used twice in the life of a task (SEP-2663, task update requests).
            let times = task.used.entry(key.clone()).or_default();
            *times += 1;
            let name = if *times == 1 { key.clone() } else { format!("{key}-{times}") };
            task.keys.insert(name.clone(), key);
            task.questions.insert(name, question);
        }
        self.set_task_status(&id, Status::InputRequired, None);
        Flow::Suspend
    }

    /// Takes in answers to a task's questions. What was not asked is ignored (SEP-2663, task update requests).
    pub(super) fn update_task(&mut self, id: &str, responses: &Map<String, Value>) -> Result<(), String> {
        let Some(task) = self.tasks.by_id.get_mut(id) else { return Err("unknown task".into()) };
        for (name, answer) in responses {
            if let Some(flaw) = task.questions.get(name).and_then(|question| flaw(question, answer)) {
                return Err(format!("the input response `{name}` is not valid: {flaw}"));
            }
        }
        let worker = task.worker;
        let mut answers = Vec::new();
        for (name, answer) in responses {
            if task.questions.shift_remove(name).is_some()
                && let Some(key) = task.keys.remove(name)
            {
                answers.push((key, answer.clone()));
            }
        }
        for (key, answer) in answers {
            self.answer_worker(worker, key, answer);
        }
        Ok(())
    }

    /// Hands a worker an answer; it goes on after the last one.
    fn answer_worker(&mut self, worker: DispatchId, key: String, answer: Value) {
        let complete = self.dispatches.suspended.get_mut(&worker).is_some_and(|one| one.inputs.answered(key, answer));
        if complete && let Some(dispatch) = self.take(worker) {
            self.go_on_with_task(dispatch);
        }
    }

    /// The last answer is there: the task works again.
    pub(crate) fn go_on_with_task(&mut self, mut dispatch: Dispatch) {
        dispatch.response = dispatch.inputs.conclude();
        if let Some(id) = dispatch.task.clone() {
            self.set_task_status(&id, Status::Working, None);
        }
        self.background.workers.push_back(dispatch);
    }

    /// Asks in the manner of 2025-11-25: the requests go out on the stream of a `tasks/result`, which the client is to
    /// open when it sees that input is required (tasks, input required status).
    pub(crate) fn ask_for_task(&mut self, id: &str, requests: Vec<Value>, out: &mut Vec<Output>) {
        let Some(task) = self.tasks.by_id.get_mut(id) else { return };
        for mut request in requests {
            relate(&mut request["params"], id);
            task.requests.push(request);
        }
        let stream = task.waiting.last().copied();
        self.set_task_status(id, Status::InputRequired, None);
        if let Some(stream) = stream {
            self.send_task_requests(id, stream, out);
        }
    }

    pub(super) fn send_task_requests(&mut self, id: &str, stream: DispatchId, out: &mut Vec<Output>) {
        let Some(task) = self.tasks.by_id.get_mut(id) else { return };
        let to = Target::Dispatch(stream);
        out.extend(task.requests.drain(..).map(|request| Output::new(to, Step::Send(request))));
    }

    /// Answers every `tasks/result` that waits for this task.
    pub(super) fn answer_those_waiting(&mut self, id: &str) {
        let Some(task) = self.tasks.by_id.get_mut(id) else { return };
        let Some(outcome) = task.related_outcome() else { return };
        for waiting in std::mem::take(&mut task.waiting) {
            self.answer_late(waiting, outcome.clone());
        }
    }
}

impl super::Task {
    /// What `tasks/result` answers: exactly what the call would have, and whose it is.
    pub(super) fn related_outcome(&self) -> Option<Outcome> {
        let mut outcome = self.outcome.clone()?;
        if let Outcome::Result(result) = &mut outcome {
            relate(result, &self.id);
        }
        Some(outcome)
    }
}
