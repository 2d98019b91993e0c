//! What each action of a script means.

use serde_json::{Map, Value, json};

use super::{
    Engine, Era, Output, Step, Target,
    exchange::{Exchange, Flow, State},
    message::{Outcome, method, outgoing},
    subscriptions::UPDATED,
    tasks::relate,
    template::Facts,
};
use crate::{
    period::Period,
    script::{Action, Notify},
};

impl Exchange {
    pub(crate) fn facts(&self) -> Facts<'_> {
        let responses = Some(&self.inputs.responses);
        Facts { message: &self.message, nth: self.nth, response: self.response.as_ref(), responses, variables: None }
    }

    /// Adds a step on the exchange's own stream. A task has none: what it sends goes to its session, and in 2026-07-28
    /// nowhere (SEP-2663, task status notifications).
    pub(crate) fn push(&self, out: &mut Vec<Output>, step: Step) {
        match (&self.task, self.session, step) {
            (Some(task), Some(session), Step::Send(mut message)) if self.era == Era::Legacy => {
                relate(&mut message["params"], task);
                out.push(Output::new(Target::Session(session), Step::Send(message)));
            }
            (Some(_), _, step) if !step.is_for_workers() => {}
            (_, _, step) => out.push(Output::new(Target::Exchange(self.id), step)),
        }
    }
}

impl Engine {
    /// Does one action.
    pub(crate) fn act(&mut self, exchange: &mut Exchange, action: Action, out: &mut Vec<Output>) -> Flow {
        match action {
            Action::Default => self.act_by_default(exchange, out),
            Action::Reply(reply) => {
                let result = self.replied(exchange, &reply);
                self.answer(exchange, Outcome::Result(result), out);
            }
            Action::Error(error) => {
                let facts = exchange.facts();
                let message = facts.fill_text(&error.message);
                let data = error.data.as_ref().map(|data| facts.fill(data));
                self.answer(exchange, Outcome::Error { code: error.code, message, data }, out);
            }
            Action::Notify(notify) => self.notify(exchange, &notify, out),
            Action::Progress(progress) => return self.report_progress(exchange, progress, out),
            Action::Request(request) => return self.request(exchange, request, out),
            Action::Ask(ask) => return self.ask(exchange, ask, out),
            Action::Require(required) => self.require(exchange, &required, out),
            Action::Task(times) => return self.begin_task(exchange, times, out),
            Action::TaskStatus(words) => {
                if let Some(task) = exchange.task.clone() {
                    self.word_task(&task, exchange.facts().fill_text(&words));
                }
            }
            Action::Batch(batch) => self.send_batch(exchange, &batch, out),
            Action::Log(log) => self.log(exchange, &log, out),
            Action::Update(update) => {
                let uri = exchange.facts().fill_text(&update.uri);
                self.tell_updated(&json!({ "uri": uri }), out);
            }
            Action::Change(change) => self.change(&change, out),
            Action::Switch(switch) => {
                if !self.switch(&switch.fault, switch.enabled) {
                    tracing::warn!(name = switch.fault, "no fault of this name to switch");
                }
            }
            Action::CloseStream(close) => exchange.push(out, Step::CloseStream(close.retry.map(|period| period.0))),
            Action::Respond(respond) => exchange.push(out, Step::Respond(respond)),
            Action::Fault(fault) => return self.misbehave(exchange, fault, out),
        }
        Flow::Next
    }

    /// Sends the final answer; nothing to a message that cannot be answered.
    pub(crate) fn answer(&mut self, exchange: &mut Exchange, outcome: Outcome, out: &mut Vec<Output>) {
        if let Some(task) = &exchange.task {
            self.settle_task(task, outcome);
        } else if let Some(id) = exchange.request_id().cloned() {
            let status = http_status(exchange.era, &outcome);
            exchange.push(out, Step::Answer { message: outcome.response(Some(id)), status });
        }
        exchange.state = State::Settled;
    }

    fn notify(&self, exchange: &Exchange, notify: &Notify, out: &mut Vec<Output>) {
        let facts = exchange.facts();
        let params = notify.params.as_ref().map(|params| facts.fill(params));
        if !notify.anyway && !self.dialect(exchange).has_method(&notify.method) {
            return;
        }
        if notify.method == UPDATED && !notify.anyway {
            return self.tell_updated(&params.unwrap_or_default(), out);
        }
        if exchange.era == Era::Modern && super::listen::is_change(&notify.method) {
            return self.announce_modern(&notify.method, params, out);
        }
        self.say(exchange, outgoing(None, &notify.method, params), out);
    }

    /// Sends a message that is no answer.
    pub(crate) fn say(&self, exchange: &Exchange, message: Value, out: &mut Vec<Output>) {
        match self.aside(exchange) {
            Target::Exchange(_) => exchange.push(out, Step::Send(message)),
            to => out.push(Output::new(to, Step::Send(message))),
        }
    }

    /// Where messages go that are no answer: along with the answer while it is still to come, else on the stream of
    /// the server's own messages, where the era has one.
    pub(crate) fn aside(&self, exchange: &Exchange) -> Target {
        match exchange.session {
            Some(session)
                if !(exchange.is_request() && exchange.state == State::Open) && exchange.era == Era::Legacy =>
            {
                Target::Session(session)
            }
            _ => Target::Exchange(exchange.id),
        }
    }

    /// What a good server would do.
    pub(crate) fn act_by_default(&mut self, exchange: &mut Exchange, out: &mut Vec<Output>) {
        exchange.state = State::Settled;
        let refused = exchange.defect.is_some();
        if !refused && method(&exchange.message) == "tasks/result" && self.waits_for_task(exchange, out) {
            return;
        }
        match method(&exchange.message) {
            "notifications/cancelled" if !refused && !exchange.is_request() => self.cancel(exchange, out),
            "subscriptions/listen" if !refused && exchange.era == Era::Modern && exchange.is_request() => {
                self.listen(exchange, out);
            }
            _ if exchange.task.is_some() => {
                let outcome = self.default_outcome(exchange);
                self.answer(exchange, outcome, out);
            }
            _ => {
                if let Some((message, status)) = self.default_answer(exchange) {
                    exchange.push(out, Step::Answer { message, status });
                }
            }
        }
    }

    /// Refuses the request unless the client declares these capabilities.
    fn require(&mut self, exchange: &mut Exchange, required: &Map<String, Value>, out: &mut Vec<Output>) {
        let declared = self.client_capabilities(exchange).cloned().unwrap_or_default();
        let missing = absent(required, &declared);
        if !missing.is_empty() {
            self.refuse_undeclared(exchange, missing.into(), out);
        }
    }
}

/// What of the wanted members is not there, at whatever depth.
fn absent(wanted: &Map<String, Value>, given: &Value) -> Map<String, Value> {
    let mut missing = Map::new();
    for (name, wanted) in wanted {
        match (given.get(name), wanted.as_object()) {
            (None, _) => drop(missing.insert(name.clone(), wanted.clone())),
            (Some(given), Some(wanted)) => {
                let below = absent(wanted, given);
                if !below.is_empty() {
                    missing.insert(name.clone(), below.into());
                }
            }
            (Some(_), None) => {}
        }
    }
    missing
}

/// The HTTP status of an answer. In 2026-07-28 (Streamable HTTP) an unknown method is a 404, and the errors of the
/// envelope are 400s; earlier revisions answer every request with 200.
pub(crate) fn http_status(era: Era, outcome: &Outcome) -> u16 {
    match (era, outcome) {
        (Era::Modern, Outcome::Error { code: -32601, .. }) => 404,
        (Era::Modern, Outcome::Error { code: -32700 | -32600 | -32022..=-32020, .. }) => 400,
        _ => 200,
    }
}

pub(crate) fn wait(exchange: &Exchange, period: Period, out: &mut Vec<Output>) -> Flow {
    exchange.push(out, Step::Wake(period.0));
    Flow::Suspend
}
