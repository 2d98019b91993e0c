//! Requests of the server to the client, and the validation of the responses.
//!
//! Up to 2025-11-25 the server sends requests. In 2026-07-28 it sends an `input_required` result, which ends the
//! request, and the client's retry contains the responses (multi round-trip requests). A retry is self-contained: its
//! `requestState` contains the position in the rule, and all earlier responses.

use serde_json::{Map, Value, json};

use super::{
    Engine, Era, Output, Rejection, Step,
    dispatch::{Dispatch, Flow, State},
    inputs::{Claim, Inputs, RequestState, required_capability, response_error},
    message::{CAPABILITIES_KEY, Outcome, SERVER_INFO_KEY, method, outgoing, param},
};
use crate::script::{Action, Ask, AskState, Notify, Request, Undeclared};

/// The key of a `request` action's response.
const INPUT: &str = "input";

impl Engine {
    /// Executes a `request` action.
    pub(crate) fn request(&mut self, dispatch: &mut Dispatch, request: Request, out: &mut Vec<Output>) -> Flow {
        let Request { method, params, anyway, otherwise } = request;
        let input_request = Notify { method, params, anyway };
        if !anyway && !otherwise.is_empty() && self.undeclared(dispatch, &input_request).is_some() {
            let at = self.position(dispatch);
            dispatch.inputs.path.extend(at);
            dispatch.remaining = otherwise.into();
            return Flow::Next;
        }
        let undeclared = if anyway { Undeclared::Ask } else { Undeclared::Refuse };
        let requests = [(INPUT.to_owned(), input_request)].into();
        self.ask(dispatch, Ask { requests, once: true, undeclared, ..Ask::default() }, out)
    }

    /// Sends the requests in the form of the era.
    pub(crate) fn ask(&mut self, dispatch: &mut Dispatch, ask: Ask, out: &mut Vec<Output>) -> Flow {
        let nothing_asked = ask.requests.is_empty();
        let mut input_requests = Map::new();
        for (key, request) in &ask.requests {
            let missing = self.undeclared(dispatch, request);
            match (missing, ask.undeclared) {
                (Some(required), Undeclared::Refuse) => {
                    self.reject_undeclared(dispatch, required, out);
                    return Flow::Next;
                }
                (Some(_), Undeclared::Skip) => {}
                _ => drop(input_requests.insert(key.clone(), input_request(dispatch, request))),
            }
        }
        if input_requests.is_empty() && (!nothing_asked || dispatch.era == Era::Legacy) {
            return Flow::Next;
        }
        match dispatch.era {
            Era::Modern if dispatch.task.is_some() => self.request_in_task(dispatch, input_requests, out),
            Era::Modern => self.require_input(dispatch, &ask, input_requests, out),
            Era::Legacy => self.request_in_session(dispatch, input_requests, out),
        }
    }

    /// Sends all requests at once in the session.
    fn request_in_session(
        &mut self,
        dispatch: &mut Dispatch,
        asked: Map<String, Value>,
        out: &mut Vec<Output>,
    ) -> Flow {
        let Some(session) = dispatch.session else { return Flow::Next };
        dispatch.inputs.await_responses(asked.len());
        let mut requests = Vec::new();
        for (key, mut input_request) in asked {
            self.requests.next += 1;
            let id = request_id(self.requests.next, input_request["method"].as_str().unwrap_or_default());
            self.requests.open.insert((session, id.to_string()), (dispatch.id, key));
            let params = input_request.get_mut("params").map(Value::take);
            requests.push(outgoing(Some(id), input_request["method"].as_str().unwrap_or_default(), params));
        }
        match dispatch.task.clone() {
            Some(task) => self.request_for_task(&task, requests, out),
            None => {
                let to = self.out_of_band_target(dispatch);
                out.extend(requests.into_iter().map(|request| Output::new(to, Step::Send(request))));
            }
        }
        Flow::Suspend
    }

    /// Sends an `input_required` result, unless the message already contains the responses.
    fn require_input(
        &mut self,
        dispatch: &mut Dispatch,
        ask: &Ask,
        input_requests: Map<String, Value>,
        out: &mut Vec<Output>,
    ) -> Flow {
        let resumed = std::mem::take(&mut dispatch.inputs.resumed);
        if resumed || ask.state == AskState::None {
            if let Err(response_error) = take_responses(dispatch, &input_requests) {
                dispatch.remaining.clear();
                self.respond(dispatch, Outcome::invalid_params(response_error), out);
                return Flow::Next;
            }
            let complete = input_requests.keys().all(|key| dispatch.inputs.partial.contains_key(key));
            if complete && (resumed || !input_requests.is_empty()) {
                dispatch.response = dispatch.inputs.conclude();
                return Flow::Next;
            }
        }
        let state = self.request_state(dispatch, ask, out);
        // Without a state the earlier responses are lost, so all requests are repeated.
        let known = |key: &String| state.is_some() && dispatch.inputs.partial.contains_key(key);
        let missing: Map<_, _> = input_requests.into_iter().filter(|(key, _)| !known(key)).collect();
        dispatch.remaining.clear();
        let result = self.input_required(missing, state);
        self.respond(dispatch, Outcome::Result(result), out);
        Flow::Next
    }

    fn input_required(&self, input_requests: Map<String, Value>, state: Option<String>) -> Value {
        let mut result = json!({ "resultType": "input_required" });
        if !input_requests.is_empty() {
            result["inputRequests"] = Value::Object(input_requests);
        }
        if let Some(state) = state {
            result["requestState"] = state.into();
        }
        result["_meta"] = json!({ SERVER_INFO_KEY: self.identity() });
        result
    }

    /// The index of the current action in its list, which is the rule's or an `otherwise`.
    fn position(&self, dispatch: &Dispatch) -> Option<usize> {
        let actions = self.rules.actions(dispatch.inputs.rule?)?;
        let list = within(actions, &dispatch.inputs.path)?;
        list.len().checked_sub(dispatch.remaining.len() + 1)
    }

    /// The state for the retry, if the action has one.
    fn request_state(&mut self, dispatch: &Dispatch, ask: &Ask, out: &mut Vec<Output>) -> Option<String> {
        let rule = dispatch.inputs.rule.filter(|_| ask.state == AskState::Sealed)?;
        // The retry repeats the action, and finds its responses.
        let at = self.position(dispatch)?;
        self.request_states.next += 1;
        let state = RequestState {
            number: self.request_states.next,
            request: Claim::new(&dispatch.message),
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

    /// Reads responses and state of a retry. Returns whether the message continues an `ask` action. It then does not
    /// count for rules, because the rule of the action continues.
    pub(crate) fn resume_from_state(&mut self, dispatch: &mut Dispatch) -> bool {
        if dispatch.era == Era::Legacy || !dispatch.is_request() || dispatch.rejection.is_some() {
            return false;
        }
        let supported = matches!(method(&dispatch.message), "tools/call" | "prompts/get" | "resources/read");
        match param(&dispatch.message, "inputResponses").cloned() {
            Some(Value::Object(offered)) => dispatch.inputs.offered = offered,
            Some(_) if supported => return reject_state(dispatch, "`inputResponses` is not an object"),
            _ => {}
        }
        let Some(state) = param(&dispatch.message, "requestState") else { return false };
        let opened = state
            .as_str()
            .and_then(|state| self.request_states.seal.open(state))
            .and_then(|bytes| RequestState::read(&bytes));
        match opened {
            Some(state) => self.resume_at(dispatch, state),
            // Other methods have no `requestState`, so it is ignored.
            None if supported => reject_state(dispatch, "`requestState` fails its integrity check"),
            None => false,
        }
    }

    fn resume_at(&mut self, dispatch: &mut Dispatch, state: RequestState) -> bool {
        if state.request != Claim::new(&dispatch.message) {
            return reject_state(dispatch, "`requestState` belongs to another request");
        }
        if state.expires.is_some_and(|expires| self.background.clock.is_reached(expires)) {
            return reject_state(dispatch, "`requestState` has expired");
        }
        if state.once && !self.request_states.used.mark_used(state.number) {
            return reject_state(dispatch, "`requestState` has been used before");
        }
        let list = self.rules.actions(state.rule).and_then(|actions| within(actions, &state.path));
        let rest = list.and_then(|actions| actions.get(state.at..)).unwrap_or_default();
        if !matches!(rest.first(), Some(Action::Ask(_) | Action::Request(_))) {
            return reject_state(dispatch, "`requestState` is of another script");
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

    /// The capability that this request needs and the client does not declare.
    fn undeclared(&self, dispatch: &Dispatch, request: &Notify) -> Option<Value> {
        let none = Value::Null;
        // Methods that the revision does not have count as undeclared, whatever the client declares.
        let known = self.features(dispatch).has_method(&request.method);
        let declared = self.client_capabilities(dispatch).filter(|_| known).unwrap_or(&none);
        required_capability(&request.method, request.params.as_ref(), declared)
    }

    /// Rejects a request that needs undeclared capabilities (2026-07-28, basic, `_meta`).
    pub(crate) fn reject_undeclared(&mut self, dispatch: &mut Dispatch, required: Value, out: &mut Vec<Output>) {
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
        self.respond(dispatch, outcome, out);
    }
}

/// Rejects the message without rules.
fn reject_state(dispatch: &mut Dispatch, words: &str) -> bool {
    dispatch.rejection = Some(Rejection::new(200, -32602, words));
    true
}

/// The `otherwise` at this path; the actions themselves for an empty one.
fn within<'a>(actions: &'a [Action], path: &[usize]) -> Option<&'a [Action]> {
    path.iter().try_fold(actions, |actions, at| match actions.get(*at)? {
        Action::Request(request) => Some(request.otherwise.as_slice()),
        _ => None,
    })
}

/// The request with its placeholders filled.
fn input_request(dispatch: &Dispatch, request: &Notify) -> Value {
    let mut input_request = json!({ "method": request.method });
    if let Some(params) = &request.params {
        input_request["params"] = dispatch.context().fill(params);
    }
    input_request
}

/// Moves the requested responses of the client; others are ignored.
fn take_responses(dispatch: &mut Dispatch, input_requests: &Map<String, Value>) -> Result<(), String> {
    for (key, input_request) in input_requests {
        let Some(answer) = dispatch.inputs.offered.shift_remove(key) else { continue };
        if let Some(response_error) = response_error(input_request, &answer) {
            return Err(format!("the input response `{key}` is not valid: {response_error}"));
        }
        dispatch.inputs.partial.insert(key.clone(), answer);
    }
    Ok(())
}

/// The id of a request to the client: a string of digits or a number, as clients must return both unchanged.
fn request_id(number: u64, method: &str) -> Value {
    if matches!(method, "roots/list" | "elicitation/create") { number.to_string().into() } else { number.into() }
}
