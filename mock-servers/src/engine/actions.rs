//! Execution of script actions.

use serde_json::{Map, Value, json};

use super::{
    Engine, Era, Output, Step, Target,
    dispatch::{Dispatch, Flow, State},
    message::{Outcome, RESOURCE_UPDATED, method, outgoing},
};
use crate::script::{Action, Notify};

impl Engine {
    /// Executes one action.
    pub(crate) fn execute(&mut self, dispatch: &mut Dispatch, action: Action, out: &mut Vec<Output>) -> Flow {
        match action {
            Action::Default => self.execute_default(dispatch, out),
            Action::Reply(reply) => {
                let result = self.reply_result(dispatch, &reply);
                self.respond(dispatch, Outcome::Result(result), out);
            }
            Action::Error(error) => {
                let context = dispatch.context();
                let message = context.fill_text(&error.message);
                let data = error.data.as_ref().map(|data| context.fill(data));
                self.respond(dispatch, Outcome::Error { code: error.code, message, data }, out);
            }
            Action::Notify(notify) => self.notify(dispatch, &notify, out),
            Action::Progress(progress) => return self.report_progress(dispatch, progress, out),
            Action::Request(request) => return self.request(dispatch, request, out),
            Action::Ask(ask) => return self.ask(dispatch, ask, out),
            Action::Require(required) => self.require(dispatch, &required, out),
            Action::Task(times) => return self.begin_task(dispatch, times, out),
            Action::TaskStatus(words) => {
                if let Some(task) = dispatch.task.clone() {
                    self.set_task_message(&task, dispatch.context().fill_text(&words));
                }
            }
            Action::Batch(batch) => self.send_batch(dispatch, &batch, out),
            Action::Log(log) => self.log(dispatch, &log, out),
            Action::Update(update) => {
                let uri = dispatch.context().fill_text(&update.uri);
                self.notify_updated(&json!({ "uri": uri }), out);
            }
            Action::Change(change) => self.change(&change, out),
            Action::Switch(switch) => {
                if !self.switch(&switch.fault, switch.enabled) {
                    tracing::warn!(name = switch.fault, "no fault of this name to switch");
                }
            }
            Action::CloseStream(close) => dispatch.push(out, Step::CloseStream(close.retry.map(|period| period.0))),
            Action::Respond(respond) => dispatch.push(out, Step::Respond(respond)),
            Action::Fault(fault) => return self.inject_fault(dispatch, fault, out),
        }
        Flow::Next
    }

    /// Sends the response, if the message is a request.
    pub(crate) fn respond(&mut self, dispatch: &mut Dispatch, outcome: Outcome, out: &mut Vec<Output>) {
        if let Some(task) = &dispatch.task {
            self.settle_task(task, outcome);
        } else if let Some(id) = dispatch.request_id().cloned() {
            let status = outcome.http_status(dispatch.era);
            dispatch.push(out, Step::Response { message: outcome.response(Some(id)), status });
        }
        dispatch.state = State::Settled;
    }

    fn notify(&self, dispatch: &Dispatch, notify: &Notify, out: &mut Vec<Output>) {
        let context = dispatch.context();
        let params = notify.params.as_ref().map(|params| context.fill(params));
        if !notify.anyway && !self.features(dispatch).has_method(&notify.method) {
            return;
        }
        if notify.method == RESOURCE_UPDATED && !notify.anyway {
            return self.notify_updated(&params.unwrap_or_default(), out);
        }
        if dispatch.era == Era::Modern && super::listen::is_change(&notify.method) {
            return self.announce_modern(&notify.method, params, out);
        }
        self.send_message(dispatch, outgoing(None, &notify.method, params), out);
    }

    /// Sends a notification or request of the server.
    pub(crate) fn send_message(&self, dispatch: &Dispatch, message: Value, out: &mut Vec<Output>) {
        match self.out_of_band_target(dispatch) {
            Target::Dispatch(_) => dispatch.push(out, Step::Send(message)),
            to => out.push(Output::new(to, Step::Send(message))),
        }
    }

    /// The target of messages that are not responses: the stream of the response while it is pending, else the stream of
    /// the session, if the era has one.
    pub(crate) fn out_of_band_target(&self, dispatch: &Dispatch) -> Target {
        match dispatch.session {
            Some(session)
                if !(dispatch.is_request() && dispatch.state == State::Open) && dispatch.era == Era::Legacy =>
            {
                Target::Session(session)
            }
            _ => Target::Dispatch(dispatch.id),
        }
    }

    /// Executes the default behavior.
    pub(crate) fn execute_default(&mut self, dispatch: &mut Dispatch, out: &mut Vec<Output>) {
        dispatch.state = State::Settled;
        let refused = dispatch.rejection.is_some();
        if !refused && method(&dispatch.message) == "tasks/result" && self.waits_for_task(dispatch, out) {
            return;
        }
        match method(&dispatch.message) {
            "notifications/cancelled" if !refused && !dispatch.is_request() => self.cancel(dispatch, out),
            "subscriptions/listen" if !refused && dispatch.era == Era::Modern && dispatch.is_request() => {
                self.listen(dispatch, out);
            }
            _ if dispatch.task.is_some() => {
                let outcome = self.default_outcome(dispatch);
                self.respond(dispatch, outcome, out);
            }
            _ => {
                if let Some((message, status)) = self.default_response(dispatch) {
                    dispatch.push(out, Step::Response { message, status });
                }
            }
        }
    }

    /// Rejects the request unless the client declares these capabilities.
    fn require(&mut self, dispatch: &mut Dispatch, required: &Map<String, Value>, out: &mut Vec<Output>) {
        let declared = self.client_capabilities(dispatch).cloned().unwrap_or_default();
        let missing = absent(required, &declared);
        if !missing.is_empty() {
            self.reject_undeclared(dispatch, missing.into(), out);
        }
    }
}

/// The expected members that are missing, at any depth.
fn absent(expected: &Map<String, Value>, given: &Value) -> Map<String, Value> {
    let mut missing = Map::new();
    for (name, expected) in expected {
        match (given.get(name), expected.as_object()) {
            (None, _) => drop(missing.insert(name.clone(), expected.clone())),
            (Some(given), Some(expected)) => {
                let below = absent(expected, given);
                if !below.is_empty() {
                    missing.insert(name.clone(), below.into());
                }
            }
            (Some(_), None) => {}
        }
    }
    missing
}
