//! The dispatcher: receives messages, selects their actions, runs, suspends and resumes dispatches.

use serde_json::Value;

use super::{
    DispatchId, Engine, Era, Origin, Output, Rejection, SessionKey, Step, Target,
    dispatch::{Dispatch, Flow, State},
    features::Rules,
    inbound::InboundMessage,
    message::{CLIENT_RESPONSE, INVALID_MESSAGE, Kind, Outcome, method, param, placeholder},
    rules::MatchInput,
};
use crate::script::Action;

impl Engine {
    /// Receives one message of any kind.
    pub(crate) fn receive(&mut self, id: DispatchId, origin: &Origin, message: &Value, out: &mut Vec<Output>) {
        if let Some(messages) = self.batch(id, origin, message) {
            return self.receive_batch(id, origin, messages, out);
        }
        let era = origin.era.unwrap_or_else(|| self.settings.support.era_for(message));
        let rejection = origin.rejection.clone().or_else(|| self.rejection(era, origin, message));
        let mut dispatch = Dispatch {
            id,
            session: origin.session,
            host: origin.host.clone(),
            rejection,
            ..Dispatch::new(era, message.clone())
        };
        match Kind::new(message) {
            Kind::Request | Kind::Notification => self.apply_faults(&mut dispatch, message),
            Kind::Invalid => self.prepare_invalid(&mut dispatch, INVALID_MESSAGE),
            Kind::Response => self.prepare_rule(&mut dispatch, &placeholder(CLIENT_RESPONSE)),
        }
        match Kind::new(message) {
            Kind::Response if dispatch.rejection.is_none() => self.resume(origin.session, message, out),
            Kind::Request | Kind::Notification if dispatch.rejection.is_none() || precedes_validation(message) => {
                let is_resumed = self.resume_from_state(&mut dispatch);
                if !is_resumed {
                    let agreed = self.sessions.negotiated_revision(origin.session);
                    let revision = self.settings.support.negotiated(era, agreed, message);
                    if let Some(decision) = self.rules.decide(MatchInput { message, revision, session: origin.session })
                    {
                        dispatch.nth = decision.nth;
                        dispatch.remaining = decision.actions.into();
                        dispatch.inputs.rule = Some(decision.rule);
                    }
                    self.leave_invalid_arguments(&mut dispatch);
                    self.prepare_call(&mut dispatch);
                }
            }
            _ => {}
        }
        self.run(dispatch, out);
    }

    /// Applies the persistent faults and the rule for invalid input, which have this name for it.
    pub(crate) fn prepare_invalid(&mut self, dispatch: &mut Dispatch, name: &str) {
        let placeholder = placeholder(name);
        self.apply_faults(dispatch, &placeholder);
        self.prepare_rule(dispatch, &placeholder);
    }

    /// Applies the rule for the message with this placeholder.
    fn prepare_rule(&mut self, dispatch: &mut Dispatch, placeholder: &Value) {
        let revision = self.sessions.negotiated_revision(dispatch.session).map(str::to_owned).unwrap_or_default();
        let input = MatchInput { message: placeholder, revision: &revision, session: dispatch.session };
        if let Some(decision) = self.rules.decide(input) {
            dispatch.nth = decision.nth;
            dispatch.remaining = decision.actions.into();
            dispatch.inputs.rule = Some(decision.rule);
        }
    }

    /// The rejection of a message that violates the protocol.
    fn rejection(&self, era: Era, origin: &Origin, message: &Value) -> Option<Rejection> {
        match (Kind::new(message), era) {
            (Kind::Invalid, _) => Some(Rejection::new(400, -32600, "invalid request")),
            (Kind::Request, Era::Modern) => self.modern_rejection(message),
            (Kind::Request, Era::Legacy) => self.legacy_rejection(origin, message),
            (Kind::Notification | Kind::Response, _) => None,
        }
    }

    /// Before `initialize` a legacy server accepts only pings. `server/discover` gets the error of an unknown method.
    fn legacy_rejection(&self, origin: &Origin, message: &Value) -> Option<Rejection> {
        let initialized = origin.session.is_some_and(|key| self.negotiated_revision(key).is_some());
        let exempt = matches!(method(message), "initialize" | "ping" | "server/discover");
        (!initialized && !exempt).then(|| Rejection::new(400, -32600, "not initialized: `initialize` must come first"))
    }

    /// Executes the remaining actions until the dispatch ends or has to wait.
    pub(crate) fn run(&mut self, mut dispatch: Dispatch, out: &mut Vec<Output>) {
        let start = out.len();
        if self.begin(&mut dispatch, out) == Flow::Suspend {
            return self.suspend(dispatch);
        }
        while let Some(action) = dispatch.remaining.pop_front() {
            let from = out.len();
            let flow = self.execute(&mut dispatch, action, out);
            dispatch.response_fault(from, out);
            if flow == Flow::Suspend {
                return self.suspend(dispatch);
            }
        }
        if dispatch.state == State::Open {
            let from = out.len();
            self.execute_default(&mut dispatch, out);
            dispatch.response_fault(from, out);
        }
        let answerable = dispatch.is_request() || matches!(method(&dispatch.message), "GET" | "DELETE");
        if dispatch.state == State::Held && answerable {
            self.suspend(dispatch);
        } else {
            self.listeners.remove(&dispatch.id);
            out.push(dispatch.end());
            self.reorder_responses(&dispatch, start, out);
        }
    }

    /// Suspends a dispatch.
    fn suspend(&mut self, dispatch: Dispatch) {
        // A task outlives the cancellation of the request that began it (2025-11-25 and SEP-2663, task cancellation).
        if let (Some(session), Some(id), None) = (dispatch.session, dispatch.request_id(), &dispatch.task) {
            self.dispatches.in_flight.insert((session, id.to_string()), dispatch.id);
        }
        self.dispatches.suspended.insert(dispatch.id, dispatch);
    }

    /// Removes a suspended dispatch, to resume or drop it.
    pub(crate) fn take(&mut self, id: DispatchId) -> Option<Dispatch> {
        let dispatch = self.dispatches.suspended.remove(&id)?;
        if let (Some(session), Some(id)) = (dispatch.session, dispatch.request_id()) {
            let key = (session, id.to_string());
            if self.dispatches.in_flight.get(&key) == Some(&dispatch.id) {
                self.dispatches.in_flight.remove(&key);
            }
        }
        Some(dispatch)
    }

    /// Resumes the dispatch that waited for this response from the client.
    fn resume(&mut self, session: Option<SessionKey>, response: &Value, out: &mut Vec<Output>) {
        let waiting =
            session.zip(response.get("id")).and_then(|(key, id)| self.requests.open.remove(&(key, id.to_string())));
        let Some((id, key)) = waiting else { return };
        let answer = response.get("result").or_else(|| response.get("error")).cloned().unwrap_or_default();
        if !self.dispatches.suspended.get_mut(&id).is_some_and(|dispatch| dispatch.inputs.add_response(key, answer)) {
            return;
        }
        let Some(mut dispatch) = self.take(id) else { return };
        if dispatch.task.is_some() {
            self.resume_task(dispatch);
        } else {
            dispatch.response = dispatch.inputs.conclude();
            self.run(dispatch, out);
        }
    }

    /// Whether an action or fault still to come decides about status and headers.
    pub(crate) fn decides_envelope(&self, id: DispatchId) -> bool {
        let envelope = |action: &Action| matches!(action, Action::Fault(fault) if fault.decides_envelope());
        self.dispatches.suspended.get(&id).is_some_and(|dispatch| {
            dispatch.remaining.iter().any(envelope) || dispatch.due.iter().any(|(fault, _)| fault.decides_envelope())
        }) || self.faults.inbound.get(&id).is_some_and(InboundMessage::decides_envelope)
    }

    /// Stops the dispatch that a cancellation names. Unknown ones are ignored (2025-11-25 and 2026-07-28,
    /// cancellation).
    pub(crate) fn cancel(&mut self, dispatch: &Dispatch, out: &mut Vec<Output>) {
        let id = param(&dispatch.message, "requestId");
        let Some(key) = dispatch.session.zip(id.map(Value::to_string)) else { return };
        let Some(named) = self.dispatches.in_flight.get(&key).copied() else { return };
        if self.dispatches.suspended.get(&named).is_some_and(|one| one.survives) {
            return;
        }
        self.take(named);
        self.listeners.remove(&named);
        out.push(Output::new(Target::Dispatch(named), Step::End));
    }

    /// The error response of a rejection.
    pub(crate) fn rejection_response(&self, id: Option<&Value>, rejection: &Rejection) -> Value {
        let outcome =
            Outcome::Error { code: rejection.code, message: rejection.message.clone(), data: rejection.data.clone() };
        // JSON-RPC 2.0 requires null for an unreadable id; from 2025-11-25 on the member is omitted.
        let unread = self.settings.support.all().first().is_some_and(|newest| Rules::named(newest).null_ids);
        let readable = id.filter(|id| id.is_string() || id.is_number()).cloned();
        outcome.response(readable.or_else(|| unread.then_some(Value::Null)))
    }
}

/// Rules for the handshake run before validation, so that a script can respond to a `server/discover` that its server
/// does not have, or delay an `initialize`. All other rules see only valid messages.
fn precedes_validation(message: &Value) -> bool {
    matches!(method(message), "initialize" | "server/discover" | "notifications/initialized" | "GET" | "DELETE")
}
