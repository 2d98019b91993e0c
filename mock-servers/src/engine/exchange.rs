//! The life of one message: received, judged, answered, cancelled.

use std::collections::VecDeque;

use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use super::{
    Defect, Engine, Era, ExchangeId, LEGACY, Origin, Output, SessionKey, Step, Target,
    answers::spoken,
    arrival::Arrival,
    inputs::Inputs,
    message::{Kind, Outcome, method, param},
    misbehaviour::Twist,
    rules::Arrived,
};
use crate::script::{Action, Fault};

/// One message of the client's, and how far the server has come with it.
#[derive(Debug, Clone)]
pub(crate) struct Exchange {
    pub(crate) id: ExchangeId,
    pub(crate) session: Option<SessionKey>,
    pub(crate) era: Era,
    pub(crate) message: Value,
    /// The `nth` of the rule that decided.
    pub(crate) nth: u64,
    /// What is still to be done.
    pub(crate) remaining: VecDeque<Action>,
    /// The client's answer to the last `request` action.
    pub(crate) response: Option<Value>,
    /// Why the message is refused by default.
    pub(crate) defect: Option<Defect>,
    pub(crate) state: State,
    /// Whether it outlives its cancellation.
    pub(crate) survives: bool,
    /// What the client has answered.
    pub(crate) inputs: Inputs,
    /// The task whose work this is.
    pub(crate) task: Option<String>,
    /// The name and port that the client calls the server by.
    pub(crate) host: Option<String>,
    /// How many faults of the rule have had their turn.
    pub(crate) faults: u64,
    /// Standing faults whose turn is still to come.
    pub(crate) due: VecDeque<(Fault, ChaCha8Rng)>,
    /// Faults that act on what is said from here on.
    pub(crate) twists: Vec<Twist>,
}

/// How far an exchange is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// The default behaviour is still to come.
    Open,
    /// The matter is ended.
    Settled,
    /// Nothing more will be said, and the stream stays open.
    Held,
}

impl Exchange {
    /// An exchange about this message, at its very beginning, outside of sessions.
    pub(crate) fn of(era: Era, message: Value) -> Self {
        Self {
            id: ExchangeId(0),
            session: None,
            era,
            message,
            nth: 0,
            remaining: VecDeque::new(),
            response: None,
            defect: None,
            state: State::Open,
            survives: false,
            inputs: Inputs::default(),
            task: None,
            host: None,
            faults: 0,
            due: VecDeque::new(),
            twists: Vec::new(),
        }
    }

    pub(crate) fn is_request(&self) -> bool {
        self.request_id().is_some()
    }

    /// The id to answer under; none for what is no request.
    pub(crate) fn request_id(&self) -> Option<&Value> {
        self.message.get("method").and_then(|_| self.message.get("id"))
    }

    pub(crate) fn ends_with_its_stream(&self) -> bool {
        self.state == State::Held || (self.era == Era::Modern && !self.survives)
    }
}

impl Engine {
    /// Takes in one message of whatever kind.
    pub(crate) fn receive(&mut self, id: ExchangeId, origin: &Origin, message: &Value, out: &mut Vec<Output>) {
        if let Some(messages) = self.batch(id, origin, message) {
            return self.receive_batch(id, origin, messages, out);
        }
        let era = origin.era.unwrap_or_else(|| self.support.era_for(message));
        let defect = origin.defect.clone().or_else(|| self.defect(era, origin, message));
        let mut exchange = Exchange {
            id,
            session: origin.session,
            host: origin.host.clone(),
            defect,
            ..Exchange::of(era, message.clone())
        };
        if matches!(Kind::of(message), Kind::Request | Kind::Notification) {
            self.strike(&mut exchange);
        }
        match Kind::of(message) {
            Kind::Response if exchange.defect.is_none() => self.resume(origin.session, message, out),
            Kind::Request | Kind::Notification if exchange.defect.is_none() || precedes_validation(message) => {
                let goes_on = self.take_up(&mut exchange);
                if !goes_on {
                    let revision = spoken(&self.support, &self.sessions, era, origin.session, message);
                    if let Some(decision) = self.rules.decide(Arrived { message, revision, session: origin.session }) {
                        exchange.nth = decision.nth;
                        exchange.remaining = decision.actions.into();
                        exchange.inputs.rule = Some(decision.rule);
                    }
                    self.prepare_call(&mut exchange);
                }
            }
            _ => {}
        }
        self.run(exchange, out);
    }

    /// What is wrong with a message, as the protocol has it.
    fn defect(&self, era: Era, origin: &Origin, message: &Value) -> Option<Defect> {
        match (Kind::of(message), era) {
            (Kind::Invalid, _) => Some(Defect::new(400, -32600, "invalid request")),
            (Kind::Request, Era::Modern) => self.modern_defect(message),
            (Kind::Request, Era::Legacy) => self.legacy_defect(origin, message),
            (Kind::Notification | Kind::Response, _) => None,
        }
    }

    /// Before `initialize` a legacy server answers pings alone. Of `server/discover` it knows nothing, then or later.
    fn legacy_defect(&self, origin: &Origin, message: &Value) -> Option<Defect> {
        let initialized = origin.session.is_some_and(|key| self.agreed_revision(key).is_some());
        let exempt = matches!(method(message), "initialize" | "ping" | "server/discover");
        (!initialized && !exempt).then(|| Defect::new(400, -32600, "not initialized: `initialize` must come first"))
    }

    /// Does what is left to do, until it is done or something has to be waited for.
    pub(crate) fn run(&mut self, mut exchange: Exchange, out: &mut Vec<Output>) {
        let start = out.len();
        if self.begin(&mut exchange, out) == Flow::Suspend {
            return self.hold(exchange);
        }
        while let Some(action) = exchange.remaining.pop_front() {
            let from = out.len();
            let flow = self.act(&mut exchange, action, out);
            exchange.twist(from, out);
            if flow == Flow::Suspend {
                return self.hold(exchange);
            }
        }
        if exchange.state == State::Open {
            let from = out.len();
            self.act_by_default(&mut exchange, out);
            exchange.twist(from, out);
        }
        let answerable = exchange.is_request() || matches!(method(&exchange.message), "GET" | "DELETE");
        if exchange.state == State::Held && answerable {
            self.hold(exchange);
        } else {
            self.listeners.remove(&exchange.id);
            out.push(exchange.end());
            self.put_in_order(&exchange, start, out);
        }
    }

    /// Keeps an exchange for later.
    fn hold(&mut self, exchange: Exchange) {
        // A task outlives the cancellation of the request that began it (2025-11-25 and SEP-2663, task cancellation).
        if let (Some(session), Some(id), None) = (exchange.session, exchange.request_id(), &exchange.task) {
            self.in_flight.insert((session, id.to_string()), exchange.id);
        }
        self.exchanges.insert(exchange.id, exchange);
    }

    /// Takes an exchange up again, or away.
    pub(crate) fn take(&mut self, id: ExchangeId) -> Option<Exchange> {
        let exchange = self.exchanges.remove(&id)?;
        if let (Some(session), Some(id)) = (exchange.session, exchange.request_id()) {
            let key = (session, id.to_string());
            if self.in_flight.get(&key) == Some(&exchange.id) {
                self.in_flight.remove(&key);
            }
        }
        Some(exchange)
    }

    /// Goes on with the exchange that waited for this response of the client's.
    fn resume(&mut self, session: Option<SessionKey>, response: &Value, out: &mut Vec<Output>) {
        let waiting = session.zip(response.get("id")).and_then(|(key, id)| self.asked.remove(&(key, id.to_string())));
        let Some((id, key)) = waiting else { return };
        let answer = response.get("result").or_else(|| response.get("error")).cloned().unwrap_or_default();
        if !self.exchanges.get_mut(&id).is_some_and(|exchange| exchange.inputs.answered(key, answer)) {
            return;
        }
        let Some(mut exchange) = self.take(id) else { return };
        if exchange.task.is_some() {
            self.go_on_with_task(exchange);
        } else {
            exchange.response = exchange.inputs.conclude();
            self.run(exchange, out);
        }
    }

    /// Whether the script still has something to say in an exchange about its HTTP envelope.
    pub(crate) fn words_envelope(&self, id: ExchangeId) -> bool {
        let envelope = |action: &Action| matches!(action, Action::Fault(fault) if fault.words_envelope());
        self.exchanges.get(&id).is_some_and(|exchange| {
            exchange.remaining.iter().any(envelope) || exchange.due.iter().any(|(fault, _)| fault.words_envelope())
        }) || self.arrivals.get(&id).is_some_and(Arrival::words_envelope)
    }

    /// Stops the exchange that a cancellation names. Unknown ones are ignored (2025-11-25 and 2026-07-28,
    /// cancellation).
    pub(crate) fn cancel(&mut self, exchange: &Exchange, out: &mut Vec<Output>) {
        let id = param(&exchange.message, "requestId");
        let Some(key) = exchange.session.zip(id.map(Value::to_string)) else { return };
        let Some(named) = self.in_flight.get(&key).copied() else { return };
        if self.exchanges.get(&named).is_some_and(|one| one.survives) {
            return;
        }
        self.take(named);
        self.listeners.remove(&named);
        out.push(Output::new(Target::Exchange(named), Step::End));
    }

    /// The answer that refuses a message.
    pub(crate) fn refusal(&self, id: Option<&Value>, defect: &Defect) -> Value {
        let outcome = Outcome::Error { code: defect.code, message: defect.message.clone(), data: defect.data.clone() };
        // Where the id could not be read, JSON-RPC 2.0 wants null; from 2025-11-25 on the member is left out.
        let unread = self.support.all().first().is_some_and(|newest| newest.as_str() < LEGACY[3]);
        let readable = id.filter(|id| id.is_string() || id.is_number()).cloned();
        outcome.response(readable.or_else(|| unread.then_some(Value::Null)))
    }
}

/// Whether an exchange goes on at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    Next,
    Suspend,
}

/// Rules for the handshake come before the protocol's own checks, so that a script can answer a `server/discover` that
/// its server does not know, or hold back an `initialize`. All other rules see only what a good server would accept.
fn precedes_validation(message: &Value) -> bool {
    matches!(method(message), "initialize" | "server/discover" | "notifications/initialized" | "GET" | "DELETE")
}
