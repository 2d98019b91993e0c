//! Responses that are delayed until others are sent.

use super::{DispatchId, Engine, Output, SessionKey, Step, Target, dispatch::Dispatch};
use crate::faults::Reorder;

/// A delayed response and the outputs after it.
#[derive(Debug, Clone)]
pub(crate) struct DelayedResponse {
    pub(crate) session: Option<SessionKey>,
    /// How many responses must be sent first.
    behind: u64,
    outputs: Vec<Output>,
}

impl Engine {
    /// Delays the response among the outputs from this one on if a fault requires it. Otherwise a response releases the
    /// delayed responses that waited for it.
    pub(crate) fn reorder_responses(&mut self, dispatch: &Dispatch, from: usize, out: &mut Vec<Output>) {
        let own = Target::Dispatch(dispatch.id);
        let add_response = out[from..].iter().any(|one| one.to == own && matches!(one.step, Step::Response { .. }));
        if !add_response {
            return;
        }
        match reordering(dispatch) {
            Some(reorder) => self.delay(dispatch, reorder, from, out),
            None => self.release_delayed(dispatch.session, out),
        }
    }

    fn delay(&mut self, dispatch: &Dispatch, reorder: Reorder, from: usize, out: &mut Vec<Output>) {
        let own = Target::Dispatch(dispatch.id);
        let (outputs, others): (Vec<_>, Vec<_>) = out.split_off(from).into_iter().partition(|one| one.to == own);
        out.extend(others);
        out.push(Output::new(own, Step::Wake(reorder.within.0)));
        self.faults
            .delayed
            .insert(dispatch.id, DelayedResponse { session: dispatch.session, behind: reorder.behind, outputs });
    }

    /// Counts a response of the session.
    fn release_delayed(&mut self, session: Option<SessionKey>, out: &mut Vec<Output>) {
        for held in self.faults.delayed.values_mut().filter(|held| held.session == session) {
            held.behind -= 1;
        }
        let free: Vec<_> = self.faults.delayed.iter().filter(|(_, held)| held.behind == 0).map(|(id, _)| *id).collect();
        out.extend(free.into_iter().filter_map(|id| self.release(id)).flatten());
    }

    /// Removes the delayed outputs of a dispatch.
    pub(crate) fn release(&mut self, dispatch: DispatchId) -> Option<Vec<Output>> {
        self.faults.delayed.remove(&dispatch).map(|held| held.outputs)
    }
}

fn reordering(dispatch: &Dispatch) -> Option<Reorder> {
    dispatch.response_faults.iter().rev().find_map(|one| one.fault.hooks().reorder())
}
