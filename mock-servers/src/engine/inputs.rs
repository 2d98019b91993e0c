//! Input that takes the client's help: what a server asks, how, and what it takes for an answer.
//!
//! Up to 2025-11-25 a question is a request of the server's own. In 2026-07-28 it is an `input_required` result, which
//! ends the request, and the client's retry brings the answers (multi round-trip requests). A retry needs nothing that
//! is not in it: the `requestState` tells which rule was at which of its actions, and what has been answered so far.

mod state;
mod validity;

use serde_json::{Map, Value, json};

use self::state::{Claim, RequestState};
pub(crate) use self::{
    state::Spent,
    validity::{flaw, required_capability},
};
use super::{
    Defect, Engine, Era, Output, Step,
    exchange::{Exchange, Flow, State},
    message::{Outcome, method, outgoing, param},
    modern::{CAPABILITIES_KEY, SERVER_INFO_KEY},
};
use crate::script::{Action, Ask, AskState, Notify, Request, Undeclared};

/// The key of the one question of a `request` action.
const INPUT: &str = "input";

/// What an exchange knows of the client's answers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Inputs {
    /// Which rule decided, by its position in the script.
    pub(crate) rule: Option<usize>,
    /// Which `request` actions were given up for their `otherwise`: the first by its position in the rule, each further
    /// one by that in the `otherwise` before.
    path: Vec<usize>,
    /// Everything that has been answered, for `{{responses…}}`.
    pub(crate) responses: Value,
    /// What has been answered of the question that is open.
    partial: Map<String, Value>,
    /// What the client brought along with this message.
    offered: Map<String, Value>,
    /// Whether the message takes the open question up again.
    resumed: bool,
    /// Requests of the server's own that are not answered yet.
    waiting: usize,
}

impl Inputs {
    /// Takes in an answer to a request of the server's own; whether it was the last one.
    pub(crate) fn answered(&mut self, key: String, answer: Value) -> bool {
        self.partial.insert(key, answer);
        self.waiting = self.waiting.saturating_sub(1);
        self.waiting == 0
    }

    /// Waits for this many answers.
    pub(crate) fn await_answers(&mut self, count: usize) {
        self.waiting = count;
    }

    /// Makes what has been answered available to the script.
    pub(crate) fn conclude(&mut self) -> Option<Value> {
        let answers = std::mem::take(&mut self.partial);
        let sole = (answers.len() == 1).then(|| answers.values().next().cloned()).flatten();
        self.keep(answers);
        sole
    }

    fn keep(&mut self, answers: Map<String, Value>) {
        match &mut self.responses {
            Value::Object(responses) => responses.extend(answers),
            responses => *responses = Value::Object(answers),
        }
    }
}

impl Engine {
    /// Asks what a `request` action asks: one thing.
    pub(crate) fn request(&mut self, exchange: &mut Exchange, request: Request, out: &mut Vec<Output>) -> Flow {
        let Request { method, params, anyway, otherwise } = request;
        let question = Notify { method, params, anyway };
        if !anyway && !otherwise.is_empty() && self.undeclared(exchange, &question).is_some() {
            let at = self.position(exchange);
            exchange.inputs.path.extend(at);
            exchange.remaining = otherwise.into();
            return Flow::Next;
        }
        let undeclared = if anyway { Undeclared::Ask } else { Undeclared::Refuse };
        let requests = [(INPUT.to_owned(), question)].into();
        self.ask(exchange, Ask { requests, once: true, undeclared, ..Ask::default() }, out)
    }

    /// Asks the client, in the way of the era.
    pub(crate) fn ask(&mut self, exchange: &mut Exchange, ask: Ask, out: &mut Vec<Output>) -> Flow {
        let nothing_asked = ask.requests.is_empty();
        let mut questions = Map::new();
        for (key, request) in &ask.requests {
            let missing = self.undeclared(exchange, request);
            match (missing, ask.undeclared) {
                (Some(required), Undeclared::Refuse) => {
                    self.refuse_undeclared(exchange, required, out);
                    return Flow::Next;
                }
                (Some(_), Undeclared::Skip) => {}
                _ => drop(questions.insert(key.clone(), question(exchange, request))),
            }
        }
        if questions.is_empty() && (!nothing_asked || exchange.era == Era::Legacy) {
            return Flow::Next;
        }
        match exchange.era {
            Era::Modern if exchange.task.is_some() => self.ask_in_task(exchange, questions, out),
            Era::Modern => self.require_input(exchange, &ask, questions, out),
            Era::Legacy => self.ask_in_session(exchange, questions, out),
        }
    }

    /// Asks with requests of the server's own, which all go out at once.
    fn ask_in_session(&mut self, exchange: &mut Exchange, asked: Map<String, Value>, out: &mut Vec<Output>) -> Flow {
        let Some(session) = exchange.session else { return Flow::Next };
        exchange.inputs.await_answers(asked.len());
        let mut requests = Vec::new();
        for (key, mut question) in asked {
            self.next_request += 1;
            let id = Value::from(self.next_request);
            self.asked.insert((session, id.to_string()), (exchange.id, key));
            let params = question.get_mut("params").map(Value::take);
            requests.push(outgoing(Some(id), question["method"].as_str().unwrap_or_default(), params));
        }
        match exchange.task.clone() {
            Some(task) => self.ask_for_task(&task, requests, out),
            None => {
                let to = self.aside(exchange);
                out.extend(requests.into_iter().map(|request| Output::new(to, Step::Send(request))));
            }
        }
        Flow::Suspend
    }

    /// Asks with an `input_required` result, unless the message brings the answers already.
    fn require_input(
        &mut self,
        exchange: &mut Exchange,
        ask: &Ask,
        questions: Map<String, Value>,
        out: &mut Vec<Output>,
    ) -> Flow {
        let resumed = std::mem::take(&mut exchange.inputs.resumed);
        if resumed || ask.state == AskState::None {
            if let Err(flaw) = take_answers(exchange, &questions) {
                exchange.remaining.clear();
                self.answer(exchange, Outcome::invalid_params(flaw), out);
                return Flow::Next;
            }
            let complete = questions.keys().all(|key| exchange.inputs.partial.contains_key(key));
            if complete && (resumed || !questions.is_empty()) {
                exchange.response = exchange.inputs.conclude();
                return Flow::Next;
            }
        }
        let state = self.request_state(exchange, ask, out);
        // Without a state nothing remembers what was answered, so all of it is asked for again.
        let known = |key: &String| state.is_some() && exchange.inputs.partial.contains_key(key);
        let missing: Map<_, _> = questions.into_iter().filter(|(key, _)| !known(key)).collect();
        exchange.remaining.clear();
        let result = self.input_required(missing, state);
        self.answer(exchange, Outcome::Result(result), out);
        Flow::Next
    }

    fn input_required(&self, questions: Map<String, Value>, state: Option<String>) -> Value {
        let mut result = json!({ "resultType": "input_required" });
        if !questions.is_empty() {
            result["inputRequests"] = Value::Object(questions);
        }
        if let Some(state) = state {
            result["requestState"] = state.into();
        }
        result["_meta"] = json!({ SERVER_INFO_KEY: self.identity() });
        result
    }

    /// Where the action at hand stands in its list, which is the rule's or an `otherwise`.
    fn position(&self, exchange: &Exchange) -> Option<usize> {
        let actions = self.rules.actions(exchange.inputs.rule?)?;
        let list = within(actions, &exchange.inputs.path)?;
        list.len().checked_sub(exchange.remaining.len() + 1)
    }

    /// The state that a retry has to bring, where the question carries any.
    fn request_state(&mut self, exchange: &Exchange, ask: &Ask, out: &mut Vec<Output>) -> Option<String> {
        let rule = exchange.inputs.rule.filter(|_| ask.state == AskState::Sealed)?;
        // The question itself is asked again on the retry, and finds its answers there.
        let at = self.position(exchange)?;
        self.next_state += 1;
        let state = RequestState {
            number: self.next_state,
            request: Claim::of(&exchange.message),
            rule,
            path: exchange.inputs.path.clone(),
            at,
            nth: exchange.nth,
            responses: exchange.inputs.responses.clone(),
            partial: exchange.inputs.partial.clone(),
            expires: ask.ttl.map(|ttl| self.time.after(ttl)),
            once: ask.once,
        };
        if let Some(ttl) = ask.ttl {
            self.wake_at_expiry(ttl, out);
        }
        Some(self.seal.close(&state.write()))
    }

    /// Takes up what the client brings back. Whether the message goes on with a question: then it counts for no rule,
    /// because the rule that asked goes on.
    pub(crate) fn take_up(&mut self, exchange: &mut Exchange) -> bool {
        if exchange.era == Era::Legacy || !exchange.is_request() || exchange.defect.is_some() {
            return false;
        }
        let supported = matches!(method(&exchange.message), "tools/call" | "prompts/get" | "resources/read");
        match param(&exchange.message, "inputResponses").cloned() {
            Some(Value::Object(offered)) => exchange.inputs.offered = offered,
            Some(_) if supported => return refuse(exchange, "`inputResponses` is no object"),
            _ => {}
        }
        let Some(state) = param(&exchange.message, "requestState") else { return false };
        let opened =
            state.as_str().and_then(|state| self.seal.open(state)).and_then(|bytes| RequestState::read(&bytes));
        match opened {
            Some(state) => self.go_on(exchange, state),
            // What no result of this method asks for is none of the server's business.
            None if supported => refuse(exchange, "`requestState` fails its integrity check"),
            None => false,
        }
    }

    fn go_on(&mut self, exchange: &mut Exchange, state: RequestState) -> bool {
        if state.request != Claim::of(&exchange.message) {
            return refuse(exchange, "`requestState` belongs to another request");
        }
        if state.expires.is_some_and(|expires| self.time.has_come(expires)) {
            return refuse(exchange, "`requestState` has expired");
        }
        if state.once && !self.spent.spend(state.number) {
            return refuse(exchange, "`requestState` has been used before");
        }
        let list = self.rules.actions(state.rule).and_then(|actions| within(actions, &state.path));
        let rest = list.and_then(|actions| actions.get(state.at..)).unwrap_or_default();
        if !matches!(rest.first(), Some(Action::Ask(_) | Action::Request(_))) {
            return refuse(exchange, "`requestState` is of another script");
        }
        exchange.remaining = rest.to_vec().into();
        exchange.nth = state.nth;
        exchange.inputs = Inputs {
            rule: Some(state.rule),
            path: state.path,
            responses: state.responses,
            partial: state.partial,
            offered: std::mem::take(&mut exchange.inputs.offered),
            resumed: true,
            waiting: 0,
        };
        true
    }

    /// The capabilities that the client declares: with the request, or in the handshake.
    pub(crate) fn client_capabilities<'a>(&'a self, exchange: &'a Exchange) -> Option<&'a Value> {
        match exchange.era {
            Era::Modern => param(&exchange.message, "_meta")?.get(CAPABILITIES_KEY),
            Era::Legacy => self.sessions.get(&exchange.session?)?.client_capabilities.as_ref(),
        }
    }

    /// The capability that this question needs and the client does not declare.
    fn undeclared(&self, exchange: &Exchange, request: &Notify) -> Option<Value> {
        let none = Value::Null;
        // What the revision does not have counts as undeclared, whatever the client says.
        let known = self.dialect(exchange).has_method(&request.method);
        let declared = self.client_capabilities(exchange).filter(|_| known).unwrap_or(&none);
        required_capability(&request.method, request.params.as_ref(), declared)
    }

    /// Refuses a request that needs more than the client declares (2026-07-28, basic, `_meta`).
    pub(crate) fn refuse_undeclared(&mut self, exchange: &mut Exchange, required: Value, out: &mut Vec<Output>) {
        exchange.remaining.clear();
        if !exchange.is_request() {
            exchange.state = State::Settled;
            return;
        }
        let message = format!("the client does not declare the capabilities {required}");
        let outcome = match exchange.era {
            Era::Modern => Outcome::missing_capability(required),
            Era::Legacy if method(&exchange.message) == "tools/call" => {
                Outcome::Result(json!({ "content": [{ "type": "text", "text": message }], "isError": true }))
            }
            Era::Legacy => Outcome::invalid_params(message),
        };
        self.answer(exchange, outcome, out);
    }
}

/// Refuses the message, and leaves it to no rule.
fn refuse(exchange: &mut Exchange, words: &str) -> bool {
    exchange.defect = Some(Defect::new(200, -32602, words));
    true
}

/// The `otherwise` that this path leads to; the actions themselves at its end.
fn within<'a>(actions: &'a [Action], path: &[usize]) -> Option<&'a [Action]> {
    path.iter().try_fold(actions, |actions, at| match actions.get(*at)? {
        Action::Request(request) => Some(request.otherwise.as_slice()),
        _ => None,
    })
}

/// What is asked, with everything filled in.
fn question(exchange: &Exchange, request: &Notify) -> Value {
    let mut question = json!({ "method": request.method });
    if let Some(params) = &request.params {
        question["params"] = exchange.facts().fill(params);
    }
    question
}

/// Moves those answers that were asked for from what the client offers; what else it offers is ignored.
fn take_answers(exchange: &mut Exchange, questions: &Map<String, Value>) -> Result<(), String> {
    for (key, question) in questions {
        let Some(answer) = exchange.inputs.offered.shift_remove(key) else { continue };
        if let Some(flaw) = flaw(question, &answer) {
            return Err(format!("the input response `{key}` is not valid: {flaw}"));
        }
        exchange.inputs.partial.insert(key.clone(), answer);
    }
    Ok(())
}
