//! Requests of a running task to the client.

use serde_json::{Map, Value};

use super::Status;
use crate::engine::{
    DispatchId, Engine, Output, Step, Target,
    dispatch::{Dispatch, Flow},
    inputs::response_error,
    message::{Outcome, relate},
};

impl Engine {
    /// Sends requests in the form of the extension: `tasks/get` contains the requests, `tasks/update` the responses.
    pub(crate) fn request_in_task(
        &mut self,
        dispatch: &mut Dispatch,
        asked: Map<String, Value>,
        _: &mut Vec<Output>,
    ) -> Flow {
        let Some(id) = dispatch.task.clone() else { return Flow::Next };
        let Some(task) = self.tasks.by_id.get_mut(&id) else { return Flow::Next };
        dispatch.inputs.await_responses(asked.len());
        for (key, input_request) in asked {
            // A key is never used twice in the life of a task (SEP-2663, task update requests).
            let times = task.used.entry(key.clone()).or_default();
            *times += 1;
            let name = if *times == 1 { key.clone() } else { format!("{key}-{times}") };
            task.keys.insert(name.clone(), key);
            task.input_requests.insert(name, input_request);
        }
        self.set_task_status(&id, Status::InputRequired, None);
        Flow::Suspend
    }

    /// Receives responses to a task's requests. Others are ignored (SEP-2663, task update requests).
    pub(super) fn update_task(&mut self, id: &str, responses: &Map<String, Value>) -> Result<(), String> {
        let Some(task) = self.tasks.by_id.get_mut(id) else { return Err("unknown task".into()) };
        for (name, answer) in responses {
            if let Some(response_error) =
                task.input_requests.get(name).and_then(|input_request| response_error(input_request, answer))
            {
                return Err(format!("the input response `{name}` is not valid: {response_error}"));
            }
        }
        let worker = task.worker;
        let mut answers = Vec::new();
        for (name, answer) in responses {
            if task.input_requests.shift_remove(name).is_some()
                && let Some(key) = task.keys.remove(name)
            {
                answers.push((key, answer.clone()));
            }
        }
        for (key, answer) in answers {
            self.resume_worker(worker, key, answer);
        }
        Ok(())
    }

    /// Passes a response to a worker; the last one resumes it.
    fn resume_worker(&mut self, worker: DispatchId, key: String, answer: Value) {
        let complete =
            self.dispatches.suspended.get_mut(&worker).is_some_and(|one| one.inputs.add_response(key, answer));
        if complete && let Some(dispatch) = self.take(worker) {
            self.resume_task(dispatch);
        }
    }

    /// Resumes a task after the last response.
    pub(crate) fn resume_task(&mut self, mut dispatch: Dispatch) {
        dispatch.response = dispatch.inputs.conclude();
        if let Some(id) = dispatch.task.clone() {
            self.set_task_status(&id, Status::Working, None);
        }
        self.background.workers.push_back(dispatch);
    }

    /// Sends requests in the form of 2025-11-25: on the stream of a `tasks/result`, which the client opens when input
    /// is required (tasks, input required status).
    pub(crate) fn request_for_task(&mut self, id: &str, requests: Vec<Value>, out: &mut Vec<Output>) {
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

    /// Responds to every `tasks/result` that waits for this task.
    pub(super) fn respond_to_waiting(&mut self, id: &str) {
        let Some(task) = self.tasks.by_id.get_mut(id) else { return };
        let Some(outcome) = task.related_outcome() else { return };
        for waiting in std::mem::take(&mut task.waiting) {
            self.respond_late(waiting, outcome.clone());
        }
    }
}

impl super::Task {
    /// The outcome for `tasks/result`: that of the call, with the task's id.
    pub(super) fn related_outcome(&self) -> Option<Outcome> {
        let mut outcome = self.outcome.clone()?;
        if let Outcome::Result(result) = &mut outcome {
            relate(result, &self.id);
        }
        Some(outcome)
    }
}
