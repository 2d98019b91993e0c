//! Faults in an exchange: their turns, and what they make of what is said after them.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use super::{
    Defect, Engine, Output, Step, Target,
    answers::spoken,
    exchange::{Exchange, Flow, State},
    rules::Arrived,
};
use crate::faults::{Fault, FaultState, Scene, Shape, Stroke, Toward, Turn, chance};

/// A fault that acts on what is said in an exchange.
#[derive(Debug, Clone)]
pub(crate) struct Twist {
    pub(crate) fault: Fault,
    pub(crate) random: ChaCha8Rng,
    /// How many messages have passed through it.
    passed: u64,
}

impl Twist {
    pub(crate) fn new(fault: Fault, random: ChaCha8Rng) -> Self {
        Self { fault, random, passed: 0 }
    }

    fn applies(&self, answer: bool) -> bool {
        answer || !self.fault.is_for_answers()
    }

    /// Its part in the shape of the next message.
    fn stroke(&mut self, answer: bool) -> Option<Stroke> {
        if !self.fault.shapes() || !self.applies(answer) {
            return None;
        }
        self.passed += 1;
        if let Fault::Coalesce(coalesce) = &self.fault
            && (answer || !coalesce.holds(self.passed))
        {
            return None;
        }
        Some(Stroke { fault: self.fault.clone(), seed: self.random.next_u64() })
    }
}

impl Exchange {
    /// The chance of the next fault among the actions of its rule.
    fn draw(&mut self, seed: u64) -> ChaCha8Rng {
        self.faults += 1;
        let rule = self.inputs.rule.map_or(0, |rule| rule as u64);
        chance(seed, (rule << 16) | self.faults, self.nth)
    }

    /// What these faults make of a message: the answer comes last, copies of it before.
    fn twisted(&mut self, message: Value, answer: bool) -> Vec<Value> {
        let mut messages = vec![message];
        for twist in self.twists.iter_mut().filter(|twist| twist.applies(answer)) {
            messages = messages.into_iter().flat_map(|one| twist.fault.twist(one, &mut twist.random)).collect();
        }
        messages
    }

    fn shape(&mut self, answer: bool) -> Option<Box<Shape>> {
        Shape::of(self.twists.iter_mut().filter_map(|twist| twist.stroke(answer)).collect())
    }

    /// Sends everything from this output on through the faults of the exchange.
    pub(crate) fn twist(&mut self, from: usize, out: &mut Vec<Output>) {
        if self.twists.is_empty() {
            return;
        }
        for Output { to, step, shape } in out.split_off(from) {
            match step {
                Step::Send(message) => {
                    for message in self.twisted(message, false) {
                        out.push(Output { to, step: Step::Send(message), shape: self.shape(false) });
                    }
                }
                Step::Answer { message, status } => {
                    let mut messages = self.twisted(message, true);
                    let last = messages.pop();
                    for message in messages {
                        out.push(Output { to, step: Step::Send(message), shape: self.shape(false) });
                    }
                    if let Some(message) = last {
                        out.push(Output { to, step: Step::Answer { message, status }, shape: self.shape(true) });
                    }
                }
                step @ (Step::Raw(_) | Step::Open) => out.push(Output { to, step, shape: self.shape(false) }),
                step => out.push(Output { to, step, shape }),
            }
        }
    }

    /// The end of the exchange, which may still open a stream.
    pub(crate) fn end(&mut self) -> Output {
        Output { to: Target::Exchange(self.id), step: Step::End, shape: self.shape(false) }
    }
}

impl Engine {
    /// Switches the standing faults of this name on or off; false if there are none. What is under way goes on.
    pub fn switch(&mut self, name: &str, enabled: bool) -> bool {
        self.standing.switch(name, enabled)
    }

    /// Counts from the beginning again: how often rules, faults and tools were met. Faults are on or off as at the start.
    /// What is drawn at random for a message follows from these counts, so that is as at the start as well. Sessions, what
    /// is under way and what the script has changed are no counts, and stay.
    pub fn reset(&mut self) {
        self.rules.reset();
        self.standing.reset();
        self.calls.clear();
    }

    /// The standing faults, in their order.
    #[must_use]
    pub fn faults(&self) -> Vec<FaultState> {
        self.standing.states()
    }

    /// The standing faults that act on what is said because of a message.
    pub(crate) fn strike(&mut self, exchange: &mut Exchange) {
        let Exchange { era, session, ref message, .. } = *exchange;
        let revision = spoken(&self.support, &self.sessions, era, session, message);
        let struck = self.standing.strike(Toward::ToClient, Arrived { message, revision, session }, self.rules.run());
        exchange.due = struck.into();
    }

    /// Gives the standing faults of an exchange their turn. Where one of them ends the matter, rules have no say.
    pub(crate) fn begin(&mut self, exchange: &mut Exchange, out: &mut Vec<Output>) -> Flow {
        while let Some((fault, random)) = exchange.due.pop_front() {
            let from = out.len();
            let flow = self.take_turn(exchange, fault, random, out);
            exchange.twist(from, out);
            if exchange.state != State::Open {
                exchange.remaining.clear();
                exchange.due.clear();
            }
            if flow == Flow::Suspend {
                return flow;
            }
        }
        Flow::Next
    }

    /// A fault among the actions of a rule.
    pub(crate) fn misbehave(&mut self, exchange: &mut Exchange, fault: Fault, out: &mut Vec<Output>) -> Flow {
        let random = exchange.draw(self.seed);
        self.take_turn(exchange, fault, random, out)
    }

    fn take_turn(&mut self, exchange: &mut Exchange, fault: Fault, random: ChaCha8Rng, out: &mut Vec<Output>) -> Flow {
        let mut scene = Scene { facts: exchange.facts(), host: exchange.host.as_deref(), random };
        let turn = fault.turn(&mut scene);
        let random = scene.random;
        match turn {
            Turn::Join => exchange.twists.push(Twist::new(fault, random)),
            Turn::Hold => exchange.state = State::Held,
            Turn::Wait(time) => return wait(exchange, time, out),
            Turn::WaitRegardless(time) => {
                exchange.survives = true;
                return wait(exchange, time, out);
            }
            Turn::Do(steps) => steps.into_iter().for_each(|step| exchange.push(out, step)),
            Turn::DoThen(steps, time, next) => {
                steps.into_iter().for_each(|step| exchange.push(out, step));
                exchange.due.push_front((*next, random));
                return wait(exchange, time, out);
            }
            Turn::Settle(step) => {
                exchange.push(out, step);
                exchange.state = State::Settled;
            }
            Turn::End(step) => {
                exchange.push(out, step);
                exchange.state = State::Settled;
                exchange.remaining.clear();
                exchange.due.clear();
            }
            Turn::ForgetSession => self.forget_session(exchange, out),
        }
        Flow::Next
    }

    /// Ends the session of an exchange, and answers as if there had never been one.
    fn forget_session(&mut self, exchange: &mut Exchange, out: &mut Vec<Output>) {
        if let Some(key) = exchange.session {
            if let Some(session) = self.sessions.get_mut(&key) {
                session.revision = None;
            }
            out.push(Output::new(Target::Session(key), Step::ExpireSession));
        }
        let message = self.refusal(exchange.request_id(), &Defect::new(404, -32001, "session not found"));
        exchange.push(out, Step::Answer { message, status: 404 });
        exchange.state = State::Settled;
        exchange.remaining.clear();
    }
}

fn wait(exchange: &Exchange, time: std::time::Duration, out: &mut Vec<Output>) -> Flow {
    exchange.push(out, Step::Wake(time));
    Flow::Suspend
}
