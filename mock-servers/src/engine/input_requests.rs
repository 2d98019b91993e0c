//! Requests of the server to the client, and the validation of the responses.
//!
//! Up to 2025-11-25 a question is a request of the server's own. In 2026-07-28 it is an `input_required` result, which
//! ends the request, and the client's retry brings the answers (multi round-trip requests). A retry needs nothing that
//! is not in it: the `requestState` tells which rule was at which of its actions, and what has been answered so far.

use serde_json::{Map, Value, json};

use super::{
    Engine, Era, Output, Rejection, Step,
    dispatch::{Dispatch, Flow, State},
    inputs::{Claim, Inputs, RequestState, flaw, required_capability},
    message::{CAPABILITIES_KEY, Outcome, SERVER_INFO_KEY, method, outgoing, param},
};
use crate::script::{Action, Ask, AskState, Notify, Request, Undeclared};

/// The key of the one question of a `request` action.
const INPUT: &str = "input";

impl Engine {
    /// Executes a `request` action.
    pub(crate) fn request(&mut self, dispatch: &mut Dispatch, request: Request, out: &mut Vec<Output>) -> Flow {
        let Request { method, params, anyway, otherwise } = request;
        let question = Notify { method, params, anyway };
        if !anyway && !otherwise.is_empty() && self.undeclared(dispatch, &question).is_some() {
            let at = self.position(dispatch);
            dispatch.inputs.path.extend(at);
            dispatch.remaining = otherwise.into();
            return Flow::Next;
        }
        let undeclared = if anyway { Undeclared::Ask } else { Undeclared::Refuse };
        let requests = [(INPUT.to_owned(), question)].into();
        self.ask(dispatch, Ask { requests, once: true, undeclared, ..Ask::default() }, out)
    }

    /// Sends the requests in the form of the era.
    pub(crate) fn ask(&mut self, dispatch: &mut Dispatch, ask: Ask, out: &mut Vec<Output>) -> Flow {
        let nothing_asked = ask.requests.is_empty();
        let mut questions = Map::new();
        for (key, request) in &ask.requests {
            let missing = self.undeclared(dispatch, request);
            match (missing, ask.undeclared) {
                (Some(required), Undeclared::Refuse) => {
                    self.refuse_undeclared(dispatch, required, out);
                    return Flow::Next;
                }
                (Some(_), Undeclared::Skip) => {}
                _ => drop(questions.insert(key.clone(), question(dispatch, request))),
            }
        }
        if questions.is_empty() && (!nothing_asked || dispatch.era == Era::Legacy) {
            return Flow::Next;
        }
        match dispatch.era {
            Era::Modern if dispatch.task.is_some() => self.ask_in_task(dispatch, questions, out),
            Era::Modern => self.require_input(dispatch, &ask, questions, out),
            Era::Legacy => self.ask_in_session(dispatch, questions, out),
        }
    }

    /// Sends all requests at once in the session.
    fn ask_in_session(&mut self, dispatch: &mut Dispatch, asked: Map<String, Value>, out: &mut Vec<Output>) -> Flow {
        let Some(session) = dispatch.session else { return Flow::Next };
        dispatch.inputs.await_answers(asked.len());
        let mut requests = Vec::new();
        for (key, mut question) in asked {
            self.requests.next += 1;
            let id = Value::from(self.requests.next);
            self.requests.open.insert((session, id.to_string()), (dispatch.id, key));
            let params = question.get_mut("params").map(Value::take);
            requests.push(outgoing(Some(id), question["method"].as_str().unwrap_or_default(), params));
        }
        match dispatch.task.clone() {
            Some(task) => self.ask_for_task(&task, requests, out),
            None => {
                let to = self.aside(dispatch);
                out.extend(requests.into_iter().map(|request| Output::new(to, Step::Send(request))));
            }
        }
        Flow::Suspend
    }

    /// Asks with an `input_required` result, unless the message brings the answers already.
    fn require_input(
        &mut self,
        dispatch: &mut Dispatch,
        ask: &Ask,
        questions: Map<String, Value>,
        out: &mut Vec<Output>,
    ) -> Flow {
        let resumed = std::mem::take(&mut dispatch.inputs.resumed);
        if resumed || ask.state == AskState::None {
            if let Err(flaw) = take_answers(dispatch, &questions) {
                dispatch.remaining.clear();
                self.answer(dispatch, Outcome::invalid_params(flaw), out);
                return Flow::Next;
            }
            let complete = questions.keys().all(|key| dispatch.inputs.partial.contains_key(key));
            if complete && (resumed || !questions.is_empty()) {
                dispatch.response = dispatch.inputs.conclude();
                return Flow::Next;
            }
        }
        let state = self.request_state(dispatch, ask, out);
        // Without a state nothing remembers what was answered, so all of it is asked for again.
        let known = |key: &String| state.is_some() && dispatch.inputs.partial.contains_key(key);
        let missing: Map<_, _> = questions.into_iter().filter(|(key, _)| !known(key)).collect();
        dispatch.remaining.clear();
        let result = self.input_required(missing, state);
        self.answer(dispatch, Outcome::Result(result), out);
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
    fn position(&self, dispatch: &Dispatch) -> Option<usize> {
        let actions = self.rules.actions(dispatch.inputs.rule?)?;
        let list = within(actions, &dispatch.inputs.path)?;
        list.len().checked_sub(dispatch.remaining.len() + 1)
    }

    /// The state that a retry has to bring, where the question carries any.
    fn request_state(&mut self, dispatch: &Dispatch, ask: &Ask, out: &mut Vec<Output>) -> Option<String> {
        let rule = dispatch.inputs.rule.filter(|_| ask.state == AskState::Sealed)?;
        // The question itself is asked again on the retry, and finds its answers there.
        let at = self.position(dispatch)?;
        self.request_states.next += 1;
        let state = RequestState {
            number: self.request_states.next,
            request: Claim::of(&dispatch.message),
            rule,
            path: dispatch.inputs.path.clone(),
            at,
            nth: dispatch.nth,
            responses: dispatch.inputs.responses.clone(),
            partial: dispatch.inputs.partial.clone(),
            expires: ask.ttl.map(|ttl| self.background.clock.after(ttl)),
            once: ask.once,
        };
        if let Some(ttl) = ask.ttl {
            self.wake_at_expiry(ttl, out);
        }
        Some(self.request_states.seal.close(&state.write()))
    }

    /// Takes up what the client brings back. Whether the message goes on with a question: then it counts for no rule,
    /// because the rule that asked goes on.
    pub(crate) fn resume_from_state(&mut self, dispatch: &mut Dispatch) -> bool {
        if dispatch.era == Era::Legacy || !dispatch.is_request() || dispatch.rejection.is_some() {
            return false;
        }
        let supported = matches!(method(&dispatch.message), "tools/call" | "prompts/get" | "resources/read");
        match param(&dispatch.message, "inputResponses").cloned() {
            Some(Value::Object(offered)) => dispatch.inputs.offered = offered,
            Some(_) if supported => return refuse(dispatch, "`inputResponses` is no object"),
            _ => {}
        }
        let Some(state) = param(&dispatch.message, "requestState") else { return false };
        let opened = state
            .as_str()
            .and_then(|state| self.request_states.seal.open(state))
            .and_then(|bytes| RequestState::read(&bytes));
        match opened {
            Some(state) => self.go_on(dispatch, state),
            // What no result of this method asks for is none of the server's business.
            None if supported => refuse(dispatch, "`requestState` fails its integrity check"),
            None => false,
        }
    }

    fn go_on(&mut self, dispatch: &mut Dispatch, state: RequestState) -> bool {
        if state.request != Claim::of(&dispatch.message) {
            return refuse(dispatch, "`requestState` belongs to another request");
        }
        if state.expires.is_some_and(|expires| self.background.clock.has_come(expires)) {
            return refuse(dispatch, "`requestState` has expired");
        }
        if state.once && !self.request_states.used.spend(state.number) {
            return refuse(dispatch, "`requestState` has been used before");
        }
        let list = self.rules.actions(state.rule).and_then(|actions| within(actions, &state.path));
        let rest = list.and_then(|actions| actions.get(state.at..)).unwrap_or_default();
        if !matches!(rest.first(), Some(Action::Ask(_) | Action::Request(_))) {
            return refuse(dispatch, "`requestState` is of another script");
        }
        dispatch.remaining = rest.to_vec().into();
        dispatch.nth = state.nth;
        dispatch.inputs = Inputs {
            rule: Some(state.rule),
            path: state.path,
            responses: state.responses,
            partial: state.partial,
            offered: std::mem::take(&mut dispatch.inputs.offered),
            resumed: true,
            waiting: 0,
        };
        true
    }

    /// The capabilities that the client declares: with the request, or in the handshake.
    pub(crate) fn client_capabilities<'a>(&'a self, dispatch: &'a Dispatch) -> Option<&'a Value> {
        match dispatch.era {
            Era::Modern => param(&dispatch.message, "_meta")?.get(CAPABILITIES_KEY),
            Era::Legacy => self.sessions.open.get(&dispatch.session?)?.client_capabilities.as_ref(),
        }
    }

    /// The capability that this question needs and the client does not declare.
    fn undeclared(&self, dispatch: &Dispatch, request: &Notify) -> Option<Value> {
        let none = Value::Null;
        // What the revision does not have counts as undeclared, whatever the client says.
        let known = self.features(dispatch).has_method(&request.method);
        let declared = self.client_capabilities(dispatch).filter(|_| known).unwrap_or(&none);
        required_capability(&request.method, request.params.as_ref(), declared)
    }

    /// Refuses a request that needs more than the client declares (2026-07-28, basic, `_meta`).
    pub(crate) fn refuse_undeclared(&mut self, dispatch: &mut Dispatch, required: Value, out: &mut Vec<Output>) {
        dispatch.remaining.clear();
        if !dispatch.is_request() {
            dispatch.state = State::Settled;
            return;
        }
        let message = format!("the client does not declare the capabilities {required}");
        let outcome = match dispatch.era {
            Era::Modern => Outcome::missing_capability(required),
            Era::Legacy if method(&dispatch.message) == "tools/call" => {
                Outcome::Result(json!({ "content": [{ "type": "text", "text": message }], "isError": true }))
            }
            Era::Legacy => Outcome::invalid_params(message),
        };
        self.answer(dispatch, outcome, out);
    }
}

/// Refuses the message, and leaves it to no rule.
fn refuse(dispatch: &mut Dispatch, words: &str) -> bool {
    dispatch.rejection = Some(Rejection::new(200, -32602, words));
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
fn question(dispatch: &Dispatch, request: &Notify) -> Value {
    let mut question = json!({ "method": request.method });
    if let Some(params) = &request.params {
        question["params"] = dispatch.context().fill(params);
    }
    question
}

/// Moves those answers that were asked for from what the client offers; what else it offers is ignored.
fn take_answers(dispatch: &mut Dispatch, questions: &Map<String, Value>) -> Result<(), String> {
    for (key, question) in questions {
        let Some(answer) = dispatch.inputs.offered.shift_remove(key) else { continue };
        if let Some(flaw) = flaw(question, &answer) {
            return Err(format!("the input response `{key}` is not valid: {flaw}"));
        }
        dispatch.inputs.partial.insert(key.clone(), answer);
    }
    Ok(())
}
