//! Faults that act on a message before the server receives it.

use std::collections::VecDeque;

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use super::{
    DispatchId, Engine, Origin, Output, Rejection, SessionKey, Step, Target,
    dispatch::Dispatch,
    message::{INVALID_JSON, placeholder},
    rules::MatchInput,
    template::TemplateContext,
};
use crate::faults::{AppliedFault, CloseMethod, Fault, FaultAction, FaultContext, FaultDirection, Finish, WriteFaults};

/// A message before its arrival.
#[derive(Debug, Clone)]
pub(crate) struct InboundMessage {
    dispatch: DispatchId,
    origin: Origin,
    /// The client's message, and its copies after faults.
    message: Value,
    copies: Vec<Value>,
    due: VecDeque<(Fault, ChaCha8Rng)>,
    faults: Vec<AppliedFault>,
}

impl Engine {
    /// Receives a message through its faults.
    pub(crate) fn arrive(&mut self, dispatch: DispatchId, origin: &Origin, message: &Value, out: &mut Vec<Output>) {
        let (era, session) = (self.settings.support.era_for(message), origin.session);
        let revision = self.settings.support.negotiated(era, self.sessions.negotiated_revision(session), message);
        let due = self.faults.persistent.apply_faults(
            FaultDirection::ToServer,
            MatchInput { message, revision, session },
            self.rules.run(),
        );
        if due.is_empty() {
            return self.receive(dispatch, origin, message, out);
        }
        let (origin, message, copies) = (origin.clone(), message.clone(), vec![message.clone()]);
        let inbound = InboundMessage { dispatch, origin, message, copies, due: due.into(), faults: Vec::new() };
        self.forward(inbound, out);
    }

    /// Runs the remaining faults of a message.
    pub(crate) fn forward(&mut self, mut inbound: InboundMessage, out: &mut Vec<Output>) {
        while let Some((fault, random)) = inbound.due.pop_front() {
            let values = TemplateContext {
                message: &inbound.message,
                nth: 0,
                response: None,
                responses: None,
                host: inbound.origin.host.as_deref(),
                variables: None,
            };
            let fill = |text: &str| values.fill_text(text);
            let mut context = FaultContext { fill: &fill, host: inbound.origin.host.as_deref(), random };
            let action = fault.hooks().action(&mut context);
            let random = context.random;
            let to = Target::Dispatch(inbound.dispatch);
            match action {
                FaultAction::Join => inbound.join(fault, random),
                // The message is lost.
                FaultAction::Hold => return,
                FaultAction::Wait(time) | FaultAction::WaitRegardless(time) => {
                    out.push(Output::new(to, Step::Wake(time)));
                    self.faults.inbound.insert(inbound.dispatch, inbound);
                    return;
                }
                FaultAction::End(step) | FaultAction::Settle(step) => {
                    out.extend([step.into(), Step::End].map(|step| Output::new(to, step)));
                    return;
                }
                FaultAction::Do(steps) | FaultAction::DoThen(steps, ..) => {
                    out.extend(steps.into_iter().map(|step| Output::new(to, step.into())));
                }
                FaultAction::ForgetSession => {
                    tracing::warn!("a session cannot expire before its message has arrived; the fault is left out");
                }
            }
        }
        self.deliver(inbound, out);
    }

    /// Delivers the message and its copies to the server.
    fn deliver(&mut self, inbound: InboundMessage, out: &mut Vec<Output>) {
        let InboundMessage { dispatch, origin, copies, faults, .. } = inbound;
        let shape = WriteFaults::new(faults);
        for (number, copy) in copies.into_iter().enumerate() {
            // Every copy is a message; over Streamable HTTP only the first has a request to respond to.
            let dispatch = if number == 0 { dispatch } else { self.new_dispatch() };
            let Some(shape) = &shape else {
                self.receive(dispatch, &origin, &copy, out);
                continue;
            };
            let (bytes, finish) = shape.write(copy.to_string().into_bytes());
            match serde_json::from_slice::<Value>(&bytes) {
                Ok(message) => self.receive(dispatch, &origin, &message, out),
                Err(_) => self.reject_unparsable(dispatch, out),
            }
            let end = match finish {
                Finish::Keep => continue,
                Finish::Inside(CloseMethod::Reset) | Finish::After(CloseMethod::Reset) => Step::Reset,
                Finish::Inside(CloseMethod::Close) | Finish::After(CloseMethod::Close) => Step::Close,
            };
            out.push(Output::new(Target::Dispatch(dispatch), end));
        }
    }

    /// Responds to bytes that are not JSON.
    pub(crate) fn reject_unparsable(&mut self, id: DispatchId, out: &mut Vec<Output>) {
        let era = self.settings.support.era_named(false);
        let rejection = Some(Rejection::new(400, -32700, "parse error"));
        let mut dispatch = Dispatch { id, rejection, ..Dispatch::new(era, placeholder(INVALID_JSON)) };
        self.prepare_invalid(&mut dispatch, INVALID_JSON);
        self.run(dispatch, out);
    }
}

impl InboundMessage {
    pub(crate) fn session(&self) -> Option<SessionKey> {
        self.origin.session
    }

    /// Whether a fault still to come decides about the HTTP envelope.
    pub(crate) fn decides_envelope(&self) -> bool {
        self.due.iter().any(|(fault, _)| fault.decides_envelope())
    }

    /// A fault acts on the message, its bytes, or both.
    fn join(&mut self, fault: Fault, mut random: ChaCha8Rng) {
        let copies = std::mem::take(&mut self.copies);
        self.copies = copies.into_iter().flat_map(|copy| fault.apply(copy, &mut random)).collect();
        if fault.changes_bytes() {
            self.faults.push(AppliedFault { fault, seed: random.next_u64() });
        }
    }
}
