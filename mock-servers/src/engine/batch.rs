//! JSON-RPC batches, which only 2025-03-26 knows (basic, messages, batching).

use serde_json::Value;

use super::{
    Engine, Output, Step,
    exchange::{Exchange, State},
    message::outgoing,
};
use crate::script::Batch;

impl Engine {
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
