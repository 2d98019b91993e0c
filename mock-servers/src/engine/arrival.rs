//! Faults on the way to the server: what becomes of a message before the server sees it.

use std::collections::VecDeque;

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use super::{
    Defect, Engine, ExchangeId, Origin, Output, SessionKey, Step, Target, answers::spoken, rules::Arrived,
    template::Facts,
};
use crate::faults::{Fault, Finish, How, Scene, Shape, Stroke, Toward, Turn};

/// A message on its way.
#[derive(Debug, Clone)]
pub(crate) struct Arrival {
    exchange: ExchangeId,
    origin: Origin,
    /// The client's message, and what faults have made of it so far.
    message: Value,
    copies: Vec<Value>,
    due: VecDeque<(Fault, ChaCha8Rng)>,
    strokes: Vec<Stroke>,
}

impl Engine {
    /// Takes in a message, by way of the faults that act on it.
    pub(crate) fn arrive(&mut self, exchange: ExchangeId, origin: &Origin, message: &Value, out: &mut Vec<Output>) {
        let (era, session) = (self.support.era_for(message), origin.session);
        let revision = spoken(&self.support, &self.sessions, era, session, message);
        let due = self.standing.strike(Toward::ToServer, Arrived { message, revision, session }, self.rules.run());
        if due.is_empty() {
            return self.receive(exchange, origin, message, out);
        }
        let (origin, message, copies) = (origin.clone(), message.clone(), vec![message.clone()]);
        let arrival = Arrival { exchange, origin, message, copies, due: due.into(), strokes: Vec::new() };
        self.forward(arrival, out);
    }

    /// Goes on with a message that has waited.
    pub(crate) fn forward(&mut self, mut arrival: Arrival, out: &mut Vec<Output>) {
        while let Some((fault, random)) = arrival.due.pop_front() {
            let facts = Facts { message: &arrival.message, nth: 0, response: None, responses: None, variables: None };
            let mut scene = Scene { facts, host: arrival.origin.host.as_deref(), random };
            let turn = fault.turn(&mut scene);
            let random = scene.random;
            let to = Target::Exchange(arrival.exchange);
            match turn {
                Turn::Join => arrival.join(fault, random),
                // A message that is lost is never spoken of again.
                Turn::Hold => return,
                Turn::Wait(time) | Turn::WaitRegardless(time) => {
                    out.push(Output::new(to, Step::Wake(time)));
                    self.arrivals.insert(arrival.exchange, arrival);
                    return;
                }
                Turn::End(step) | Turn::Settle(step) => {
                    out.extend([step, Step::End].map(|step| Output::new(to, step)));
                    return;
                }
                Turn::Do(steps) | Turn::DoThen(steps, ..) => {
                    out.extend(steps.into_iter().map(|step| Output::new(to, step)));
                }
                Turn::ForgetSession => {
                    tracing::warn!("a session cannot expire before its message has arrived; the fault is left out");
                }
            }
        }
        self.deliver(arrival, out);
    }

    /// The message reaches the server, in whatever state and number.
    fn deliver(&mut self, arrival: Arrival, out: &mut Vec<Output>) {
        let Arrival { exchange, origin, copies, strokes, .. } = arrival;
        let shape = Shape::of(strokes);
        for (number, copy) in copies.into_iter().enumerate() {
            // Every copy is a message of its own; over Streamable HTTP only the first has somebody to be answered to.
            let exchange = if number == 0 { exchange } else { self.new_exchange() };
            let Some(shape) = &shape else {
                self.receive(exchange, &origin, &copy, out);
                continue;
            };
            let (bytes, finish) = shape.convey(copy.to_string().into_bytes());
            match serde_json::from_slice::<Value>(&bytes) {
                Ok(message) => self.receive(exchange, &origin, &message, out),
                Err(_) => self.garbage(exchange, out),
            }
            let end = match finish {
                Finish::Keep => continue,
                Finish::Amid(How::Reset) | Finish::After(How::Reset) => Step::Reset,
                Finish::Amid(How::Close) | Finish::After(How::Close) => Step::Close,
            };
            out.push(Output::new(Target::Exchange(exchange), end));
        }
    }

    /// Answers bytes that are no JSON.
    pub(crate) fn garbage(&mut self, exchange: ExchangeId, out: &mut Vec<Output>) {
        let defect = Defect::new(400, -32700, "parse error");
        let message = self.refusal(None, &defect);
        out.push(Output::new(Target::Exchange(exchange), Step::Answer { message, status: defect.status }));
        out.push(Output::new(Target::Exchange(exchange), Step::End));
    }
}

impl Arrival {
    pub(crate) fn session(&self) -> Option<SessionKey> {
        self.origin.session
    }

    /// Whether a fault still to come decides about the HTTP envelope.
    pub(crate) fn words_envelope(&self) -> bool {
        self.due.iter().any(|(fault, _)| fault.words_envelope())
    }

    /// A fault acts on the message, its bytes, or both.
    fn join(&mut self, fault: Fault, mut random: ChaCha8Rng) {
        let copies = std::mem::take(&mut self.copies);
        self.copies = copies.into_iter().flat_map(|copy| fault.twist(copy, &mut random)).collect();
        if fault.shapes() {
            self.strokes.push(Stroke { fault, seed: random.next_u64() });
        }
    }
}
