//! Answers that wait for others to overtake them.

use super::{Engine, ExchangeId, Output, SessionKey, Step, Target, exchange::Exchange};
use crate::faults::{Fault, Reorder};

/// What is held back of an exchange: its answer and all that follows it.
#[derive(Debug, Clone)]
pub(crate) struct HeldBack {
    pub(crate) session: Option<SessionKey>,
    /// How many answers have still to go first.
    behind: u64,
    outputs: Vec<Output>,
}

impl Engine {
    /// An exchange is over, and all from this output on was said in it. If it was answered, its answer is held back
    /// where a fault wants it, or goes first where others wait for that.
    pub(crate) fn put_in_order(&mut self, exchange: &Exchange, from: usize, out: &mut Vec<Output>) {
        let own = Target::Exchange(exchange.id);
        let answered = out[from..].iter().any(|one| one.to == own && matches!(one.step, Step::Answer { .. }));
        if !answered {
            return;
        }
        match reordering(exchange) {
            Some(reorder) => self.hold_back(exchange, reorder, from, out),
            None => self.let_overtake(exchange.session, out),
        }
    }

    fn hold_back(&mut self, exchange: &Exchange, reorder: Reorder, from: usize, out: &mut Vec<Output>) {
        let own = Target::Exchange(exchange.id);
        let (outputs, others): (Vec<_>, Vec<_>) = out.split_off(from).into_iter().partition(|one| one.to == own);
        out.extend(others);
        out.push(Output::new(own, Step::Wake(reorder.within.0)));
        self.held_back.insert(exchange.id, HeldBack { session: exchange.session, behind: reorder.behind, outputs });
    }

    /// One more answer has gone out in a session.
    fn let_overtake(&mut self, session: Option<SessionKey>, out: &mut Vec<Output>) {
        for held in self.held_back.values_mut().filter(|held| held.session == session) {
            held.behind -= 1;
        }
        let free: Vec<_> = self.held_back.iter().filter(|(_, held)| held.behind == 0).map(|(id, _)| *id).collect();
        out.extend(free.into_iter().filter_map(|id| self.release(id)).flatten());
    }

    /// Everything that is held back of an exchange.
    pub(crate) fn release(&mut self, exchange: ExchangeId) -> Option<Vec<Output>> {
        self.held_back.remove(&exchange).map(|held| held.outputs)
    }
}

fn reordering(exchange: &Exchange) -> Option<Reorder> {
    exchange.twists.iter().rev().find_map(|twist| match &twist.fault {
        Fault::Reorder(reorder) if reorder.behind > 0 => Some(*reorder),
        _ => None,
    })
}
