//! JSON-RPC batches of 2025-03-26 (basic, messages, batching).
//!
//! Every message of a batch is a dispatch. Their notifications and requests are sent on the dispatch of the batch.
//! Their responses are collected, and sent as one array when all exist (JSON-RPC 2.0, section 6).

use std::collections::HashMap;

use serde_json::Value;

use super::features::Rules;
use super::{
    DispatchId, Engine, Origin, Output, Rejection, SessionKey, Step, Target,
    dispatch::{Dispatch, State},
    message::{method, outgoing},
};
use crate::{faults::WriteFaults, script::Batch};

/// Maximum number of messages of a batch. Larger batches are rejected.
const MAX_MESSAGES: usize = 10_000;

/// The batches without a response.
#[derive(Debug, Clone, Default)]
pub(crate) struct Batches {
    /// The batch of each member.
    batch_of: HashMap<DispatchId, DispatchId>,
    gathered: HashMap<DispatchId, Gathered>,
}

/// State of a batch.
#[derive(Debug, Clone)]
struct Gathered {
    session: Option<SessionKey>,
    /// The number of unfinished messages.
    open: usize,
    answers: Vec<Value>,
    /// The faults of the last response, which act on the bytes of the batch.
    shape: Option<Box<WriteFaults>>,
}

impl Batches {
    pub(crate) fn end_session(&mut self, key: SessionKey) {
        self.gathered.retain(|_, gathered| gathered.session != Some(key));
        self.batch_of.retain(|_, batch| self.gathered.contains_key(batch));
    }

    /// The dispatches that a batch consists of.
    pub(crate) fn members(&self, batch: DispatchId) -> Vec<DispatchId> {
        if !self.gathered.contains_key(&batch) {
            return Vec::new();
        }
        self.batch_of.iter().filter(|(_, one)| **one == batch).map(|(member, _)| *member).collect()
    }
}

impl Engine {
    /// The messages of a valid batch, if the session's revision has batches.
    pub(crate) fn batch<'a>(&self, id: DispatchId, origin: &Origin, message: &'a Value) -> Option<&'a [Value]> {
        let messages = message.as_array().filter(|messages| (1..=MAX_MESSAGES).contains(&messages.len()))?;
        let revision = origin.session.and_then(|key| self.negotiated_revision(key));
        let known = revision.and_then(Rules::known).is_some_and(|rules| rules.batches);
        // There are no batches within batches.
        let inside = self.batches.batch_of.contains_key(&id);
        (known && !inside && origin.rejection.is_none()).then_some(messages)
    }

    /// Receives every message of a batch.
    pub(crate) fn receive_batch(
        &mut self,
        batch: DispatchId,
        origin: &Origin,
        messages: &[Value],
        out: &mut Vec<Output>,
    ) {
        let gathered = Gathered { session: origin.session, open: messages.len(), answers: Vec::new(), shape: None };
        self.batches.gathered.insert(batch, gathered);
        for message in messages {
            let member = self.new_dispatch();
            self.batches.batch_of.insert(member, batch);
            let mut origin = origin.clone();
            if method(message) == "initialize" {
                // No other message is possible before its response (2025-03-26, lifecycle, initialization).
                origin.rejection = Some(Rejection::new(400, -32600, "`initialize` must not be part of a batch"));
            }
            self.receive(member, &origin, message, out);
        }
    }

    /// Moves the outputs of members to their batches.
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

    /// The member that created this output, and its batch. A wake-up stays with its dispatch.
    fn batch_for(&self, output: &Output) -> Option<(DispatchId, DispatchId)> {
        let Target::Dispatch(member) = output.to else { return None };
        let batch = self.batches.batch_of.get(&member)?;
        (!matches!(output.step, Step::Wake(_))).then_some((member, *batch))
    }

    fn gather_one(&mut self, member: DispatchId, batch: DispatchId, output: Output, outputs: &mut Vec<Output>) {
        let Some(gathered) = self.batches.gathered.get_mut(&batch) else { return };
        match output.step {
            Step::Response { mut message, .. } => {
                // In this revision an unreadable id is null, as in JSON-RPC 2.0.
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
                    let to = Target::Dispatch(batch);
                    if let Some(Gathered { answers, shape, .. }) =
                        self.batches.gathered.remove(&batch).filter(|gathered| !gathered.answers.is_empty())
                    {
                        let step = Step::Response { message: answers.into(), status: 200 };
                        outputs.push(Output { to, step, shape });
                    }
                    outputs.push(Output { to, step: Step::End, shape: output.shape });
                }
            }
            _ => outputs.push(Output { to: Target::Dispatch(batch), ..output }),
        }
    }

    /// Sends the batch of a script.
    pub(crate) fn send_batch(&mut self, dispatch: &mut Dispatch, batch: &Batch, out: &mut Vec<Output>) {
        let context = dispatch.context();
        let fill = |params: &Option<Value>| params.as_ref().map(|params| context.fill(params));
        let mut messages: Vec<_> =
            batch.notify.iter().map(|notify| outgoing(None, &notify.method, fill(&notify.params))).collect();
        let answer = if batch.answer { self.default_response(dispatch) } else { None };
        match answer {
            Some((message, status)) => {
                messages.push(message);
                dispatch.push(out, Step::Response { message: messages.into(), status });
                dispatch.state = State::Settled;
            }
            None => dispatch.push(out, Step::Send(messages.into())),
        }
    }
}
