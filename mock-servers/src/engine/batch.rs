//! JSON-RPC batches, which only 2025-03-26 knows (basic, messages, batching).
//!
//! Every message of a batch is an exchange of its own. What they say goes out on the exchange of the batch, and their
//! answers are gathered until there are all of them: then they go out as one array (JSON-RPC 2.0, section 6).

use std::collections::HashMap;

use serde_json::Value;

use super::{
    Defect, Engine, ExchangeId, LEGACY, Origin, Output, SessionKey, Step, Target,
    exchange::{Exchange, State},
    message::{method, outgoing},
};
use crate::{faults::Shape, script::Batch};

/// How many messages of one batch are dealt with. A batch of more is refused as a whole.
const LONGEST: usize = 10_000;

/// The batches that are not answered yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct Batches {
    /// Which batch an exchange is part of.
    batch_of: HashMap<ExchangeId, ExchangeId>,
    gathered: HashMap<ExchangeId, Gathered>,
}

/// What a batch has come to.
#[derive(Debug, Clone)]
struct Gathered {
    session: Option<SessionKey>,
    /// How many of its messages are still being dealt with.
    open: usize,
    answers: Vec<Value>,
    /// What faults make of the answer's bytes: what they would have made of the last one.
    shape: Option<Box<Shape>>,
}

impl Batches {
    pub(crate) fn end_session(&mut self, key: SessionKey) {
        self.gathered.retain(|_, gathered| gathered.session != Some(key));
        self.batch_of.retain(|_, batch| self.gathered.contains_key(batch));
    }

    /// The exchanges that a batch consists of.
    pub(crate) fn members(&self, batch: ExchangeId) -> Vec<ExchangeId> {
        if !self.gathered.contains_key(&batch) {
            return Vec::new();
        }
        self.batch_of.iter().filter(|(_, one)| **one == batch).map(|(member, _)| *member).collect()
    }
}

impl Engine {
    /// The messages of a batch, if the session's revision has batches and this is a proper one.
    pub(crate) fn batch<'a>(&self, id: ExchangeId, origin: &Origin, message: &'a Value) -> Option<&'a [Value]> {
        let messages = message.as_array().filter(|messages| (1..=LONGEST).contains(&messages.len()))?;
        let known = origin.session.and_then(|key| self.agreed_revision(key)) == Some(LEGACY[1]);
        // There are no batches within batches.
        let inside = self.batches.batch_of.contains_key(&id);
        (known && !inside && origin.defect.is_none()).then_some(messages)
    }

    /// Takes in every message of a batch.
    pub(crate) fn receive_batch(
        &mut self,
        batch: ExchangeId,
        origin: &Origin,
        messages: &[Value],
        out: &mut Vec<Output>,
    ) {
        let gathered = Gathered { session: origin.session, open: messages.len(), answers: Vec::new(), shape: None };
        self.batches.gathered.insert(batch, gathered);
        for message in messages {
            let member = self.new_exchange();
            self.batches.batch_of.insert(member, batch);
            let mut origin = origin.clone();
            if method(message) == "initialize" {
                // No other message is possible before its answer (2025-03-26, lifecycle, initialization).
                origin.defect = Some(Defect::new(400, -32600, "`initialize` must not be part of a batch"));
            }
            self.receive(member, &origin, message, out);
        }
    }

    /// Puts what the messages of batches say where their batch says it.
    pub(crate) fn gather(&mut self, outputs: &mut Vec<Output>) {
        if self.batches.batch_of.is_empty() {
            return;
        }
        for output in std::mem::take(outputs) {
            match self.batch_for(&output) {
                Some((member, batch)) => self.gather_one(member, batch, output, outputs),
                None => outputs.push(output),
            }
        }
    }

    /// The member of a batch that says this, and the batch. A wake stays with the exchange that waits for it.
    fn batch_for(&self, output: &Output) -> Option<(ExchangeId, ExchangeId)> {
        let Target::Exchange(member) = output.to else { return None };
        let batch = self.batches.batch_of.get(&member)?;
        (!matches!(output.step, Step::Wake(_))).then_some((member, *batch))
    }

    fn gather_one(&mut self, member: ExchangeId, batch: ExchangeId, output: Output, outputs: &mut Vec<Output>) {
        let Some(gathered) = self.batches.gathered.get_mut(&batch) else { return };
        match output.step {
            Step::Answer { mut message, .. } => {
                // In this revision an id that could not be read is null, as JSON-RPC 2.0 wants it.
                if message.get("id").is_none() {
                    message["id"] = Value::Null;
                }
                gathered.answers.push(message);
                gathered.shape = output.shape.or(gathered.shape.take());
            }
            Step::End => {
                self.batches.batch_of.remove(&member);
                gathered.open -= 1;
                if gathered.open == 0 {
                    let to = Target::Exchange(batch);
                    if let Some(Gathered { answers, shape, .. }) =
                        self.batches.gathered.remove(&batch).filter(|gathered| !gathered.answers.is_empty())
                    {
                        let step = Step::Answer { message: answers.into(), status: 200 };
                        outputs.push(Output { to, step, shape });
                    }
                    outputs.push(Output { to, step: Step::End, shape: output.shape });
                }
            }
            _ => outputs.push(Output { to: Target::Exchange(batch), ..output }),
        }
    }

    /// Sends several messages as one, as a script asks.
    pub(crate) fn send_batch(&mut self, exchange: &mut Exchange, batch: &Batch, out: &mut Vec<Output>) {
        let facts = exchange.facts();
        let fill = |params: &Option<Value>| params.as_ref().map(|params| facts.fill(params));
        let mut messages: Vec<_> =
            batch.notify.iter().map(|notify| outgoing(None, &notify.method, fill(&notify.params))).collect();
        let answer = if batch.answer { self.default_answer(exchange) } else { None };
        match answer {
            Some((message, status)) => {
                messages.push(message);
                exchange.push(out, Step::Answer { message: messages.into(), status });
                exchange.state = State::Settled;
            }
            None => exchange.push(out, Step::Send(messages.into())),
        }
    }
}
