//! Faults in a dispatch, and their effect on later messages.

use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use super::{
    Engine, Output, Rejection, Step, Target,
    dispatch::{Dispatch, Flow, ResponseFault, State},
    persistent_faults::fault_random,
    rules::MatchInput,
};
use crate::faults::{Fault, FaultAction, FaultContext, FaultDirection, FaultState, WriteFaults};

impl Dispatch {
    /// The random values of the next fault among the actions of its rule.
    fn draw(&mut self, seed: u64) -> ChaCha8Rng {
        self.faults += 1;
        let rule = self.inputs.rule.map_or(0, |rule| rule as u64);
        fault_random(seed, (rule << 16) | self.faults, self.nth)
    }

    /// The messages after these faults: the response is last, copies precede it.
    fn with_faults(&mut self, message: Value, answer: bool) -> Vec<Value> {
        let mut messages = vec![message];
        for response_fault in self.response_faults.iter_mut().filter(|response_fault| response_fault.applies(answer)) {
            messages = messages
                .into_iter()
                .flat_map(|one| response_fault.fault.apply(one, &mut response_fault.random))
                .collect();
        }
        messages
    }

    fn shape(&mut self, answer: bool) -> Option<Box<WriteFaults>> {
        WriteFaults::new(
            self.response_faults.iter_mut().filter_map(|response_fault| response_fault.applied(answer)).collect(),
        )
    }

    /// Applies the faults of the dispatch to all outputs from this one on.
    pub(crate) fn response_fault(&mut self, from: usize, out: &mut Vec<Output>) {
        if self.response_faults.is_empty() {
            return;
        }
        for Output { to, step, shape } in out.split_off(from) {
            match step {
                Step::Send(message) => {
                    for message in self.with_faults(message, false) {
                        out.push(Output { to, step: Step::Send(message), shape: self.shape(false) });
                    }
                }
                Step::Response { message, status } => {
                    let mut messages = self.with_faults(message, true);
                    let last = messages.pop();
                    for message in messages {
                        out.push(Output { to, step: Step::Send(message), shape: self.shape(false) });
                    }
                    if let Some(message) = last {
                        out.push(Output { to, step: Step::Response { message, status }, shape: self.shape(true) });
                    }
                }
                step @ (Step::Raw(_) | Step::Open) => out.push(Output { to, step, shape: self.shape(false) }),
                step => out.push(Output { to, step, shape }),
            }
        }
    }

    /// The last output of the dispatch, which may still open a stream.
    pub(crate) fn end(&mut self) -> Output {
        Output { to: Target::Dispatch(self.id), step: Step::End, shape: self.shape(false) }
    }
}

impl Engine {
    /// Enables or disables the persistent faults of this name; returns whether there are any. Pending dispatches are
    /// not affected.
    pub fn switch(&mut self, name: &str, enabled: bool) -> bool {
        self.faults.persistent.switch(name, enabled)
    }

    /// Resets the counters of rules, faults and tools, and enables or disables faults as at the start. Random values
    /// depend on the counters, so they are reset as well. Sessions, pending dispatches and changes by the script stay.
    pub fn reset(&mut self) {
        self.rules.reset();
        self.faults.persistent.reset();
        self.items.calls.clear();
    }

    /// The persistent faults, in their order.
    #[must_use]
    pub fn faults(&self) -> Vec<FaultState> {
        self.faults.persistent.states()
    }

    /// Queues the persistent faults that act on the dispatch of this message.
    pub(crate) fn apply_faults(&mut self, dispatch: &mut Dispatch, message: &Value) {
        let Dispatch { era, session, .. } = *dispatch;
        let revision = self.settings.support.negotiated(era, self.sessions.negotiated_revision(session), message);
        let applied = self.faults.persistent.apply_faults(
            FaultDirection::ToClient,
            MatchInput { message, revision, session },
            self.rules.run(),
        );
        dispatch.due = applied.into();
    }

    /// Runs the queued persistent faults. If one of them ends the dispatch, rules do not run.
    pub(crate) fn begin(&mut self, dispatch: &mut Dispatch, out: &mut Vec<Output>) -> Flow {
        while let Some((fault, random)) = dispatch.due.pop_front() {
            let from = out.len();
            let flow = self.apply_fault(dispatch, fault, random, out);
            dispatch.response_fault(from, out);
            if dispatch.state != State::Open {
                dispatch.remaining.clear();
                dispatch.due.clear();
            }
            if flow == Flow::Suspend {
                return flow;
            }
        }
        Flow::Next
    }

    /// Runs a fault among the actions of a rule.
    pub(crate) fn inject_fault(&mut self, dispatch: &mut Dispatch, fault: Fault, out: &mut Vec<Output>) -> Flow {
        let random = dispatch.draw(self.settings.seed);
        self.apply_fault(dispatch, fault, random, out)
    }

    fn apply_fault(
        &mut self,
        dispatch: &mut Dispatch,
        fault: Fault,
        random: ChaCha8Rng,
        out: &mut Vec<Output>,
    ) -> Flow {
        let values = dispatch.context();
        let fill = |text: &str| values.fill_text(text);
        let mut context = FaultContext { fill: &fill, host: dispatch.host.as_deref(), random };
        let action = fault.hooks().action(&mut context);
        let random = context.random;
        match action {
            FaultAction::Join => dispatch.response_faults.push(ResponseFault::new(fault, random)),
            FaultAction::Hold => dispatch.state = State::Held,
            FaultAction::Wait(time) => return dispatch.wait(time, out),
            FaultAction::WaitRegardless(time) => {
                dispatch.survives = true;
                return dispatch.wait(time, out);
            }
            FaultAction::Do(steps) => steps.into_iter().for_each(|step| dispatch.push(out, step.into())),
            FaultAction::DoThen(steps, time, next) => {
                steps.into_iter().for_each(|step| dispatch.push(out, step.into()));
                dispatch.due.push_front((*next, random));
                return dispatch.wait(time, out);
            }
            FaultAction::Settle(step) => {
                dispatch.push(out, step.into());
                dispatch.state = State::Settled;
            }
            FaultAction::End(step) => {
                dispatch.push(out, step.into());
                dispatch.state = State::Settled;
                dispatch.remaining.clear();
                dispatch.due.clear();
            }
            FaultAction::ForgetSession => self.forget_session(dispatch, out),
        }
        Flow::Next
    }

    /// Expires the session of a dispatch, and responds as for an unknown session.
    fn forget_session(&mut self, dispatch: &mut Dispatch, out: &mut Vec<Output>) {
        if let Some(key) = dispatch.session {
            if let Some(session) = self.sessions.open.get_mut(&key) {
                session.revision = None;
            }
            out.push(Output::new(Target::Session(key), Step::ExpireSession));
        }
        let message = self.rejection_response(dispatch.request_id(), &Rejection::new(404, -32001, "session not found"));
        dispatch.push(out, Step::Response { message, status: 404 });
        dispatch.state = State::Settled;
        dispatch.remaining.clear();
    }
}
