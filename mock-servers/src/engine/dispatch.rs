//! One message from the client, and the progress of its handling.

mod response_fault;

use std::{collections::VecDeque, time::Duration};

use rand_chacha::ChaCha8Rng;
use serde_json::Value;

pub(crate) use self::response_fault::ResponseFault;
use super::{
    DispatchId, Era, Output, Rejection, SessionKey, Step, Target, inputs::Inputs, message::relate,
    template::TemplateContext,
};
use crate::script::{Action, Fault};

/// One message from the client, and the progress of its handling.
#[derive(Debug, Clone)]
pub(crate) struct Dispatch {
    pub(crate) id: DispatchId,
    pub(crate) session: Option<SessionKey>,
    pub(crate) era: Era,
    pub(crate) message: Value,
    /// The `nth` of the rule that decided.
    pub(crate) nth: u64,
    /// Actions still to execute.
    pub(crate) remaining: VecDeque<Action>,
    /// The client's response to the last `request` action.
    pub(crate) response: Option<Value>,
    /// The rejection by the default behavior.
    pub(crate) rejection: Option<Rejection>,
    pub(crate) state: State,
    /// Whether cancellation has no effect.
    pub(crate) survives: bool,
    /// The client's responses to the server's requests.
    pub(crate) inputs: Inputs,
    /// The task whose worker this is.
    pub(crate) task: Option<String>,
    /// The host and port of the request.
    pub(crate) host: Option<String>,
    /// How many faults of the rule have run.
    pub(crate) faults: u64,
    /// Persistent faults that are still to run.
    pub(crate) due: VecDeque<(Fault, ChaCha8Rng)>,
    /// Faults that act on the messages from here on.
    pub(crate) response_faults: Vec<ResponseFault>,
}

/// Progress of a dispatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// The default behavior is still to come.
    Open,
    /// The response is sent, or there will be none.
    Settled,
    /// The stream stays open without further messages.
    Held,
}

impl Dispatch {
    /// A dispatch of this message outside of sessions.
    pub(crate) fn new(era: Era, message: Value) -> Self {
        Self {
            id: DispatchId(0),
            session: None,
            era,
            message,
            nth: 0,
            remaining: VecDeque::new(),
            response: None,
            rejection: None,
            state: State::Open,
            survives: false,
            inputs: Inputs::default(),
            task: None,
            host: None,
            faults: 0,
            due: VecDeque::new(),
            response_faults: Vec::new(),
        }
    }

    pub(crate) fn is_request(&self) -> bool {
        self.request_id().is_some()
    }

    /// The id of the response; `None` if the message is not a request.
    pub(crate) fn request_id(&self) -> Option<&Value> {
        self.message.get("method").and_then(|_| self.message.get("id"))
    }

    /// Whether the end of the stream cancels the request; `always`: in the handshake revisions too.
    pub(crate) fn ends_with_its_stream(&self, always: bool) -> bool {
        self.state == State::Held || ((always || self.era == Era::Modern) && !self.survives)
    }

    pub(crate) fn context(&self) -> TemplateContext<'_> {
        let responses = Some(&self.inputs.responses);
        TemplateContext {
            message: &self.message,
            nth: self.nth,
            response: self.response.as_ref(),
            responses,
            host: self.host.as_deref(),
            variables: None,
        }
    }

    /// Adds a step on the dispatch's own stream. A task has none: its messages are sent to its session, and in
    /// 2026-07-28 nowhere (SEP-2663, task status notifications).
    pub(crate) fn push(&self, out: &mut Vec<Output>, step: Step) {
        match (&self.task, self.session, step) {
            (Some(task), Some(session), Step::Send(mut message)) if self.era == Era::Legacy => {
                relate(&mut message["params"], task);
                out.push(Output::new(Target::Session(session), Step::Send(message)));
            }
            (Some(_), _, step) if !step.is_for_workers() => {}
            (_, _, step) => out.push(Output::new(Target::Dispatch(self.id), step)),
        }
    }

    /// Suspends the dispatch for this time.
    pub(crate) fn wait(&self, time: Duration, out: &mut Vec<Output>) -> Flow {
        self.push(out, Step::Wake(time));
        Flow::Suspend
    }
}

/// Whether a dispatch continues at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    Next,
    Suspend,
}
