//! The end of a stdio server in good order: what is under way is said first, and written out.

use std::{
    sync::{Arc, Condvar, Mutex, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

use super::{
    front::{State, lock},
    wakes::Wakes,
};

/// How long answers that come by themselves are waited for: a server should end promptly when its input does
/// (2026-07-28, stdio, shutdown).
const PATIENCE: Duration = Duration::from_millis(500);
/// How long all of it may take, with a client that reads slowly or not at all.
const BOUND: Duration = Duration::from_secs(1);

/// Ends a front.
pub(super) struct Parting {
    pub(super) state: Arc<Mutex<State>>,
    pub(super) wakes: Arc<Wakes>,
    pub(super) woken: Arc<Condvar>,
}

impl Parting {
    /// Returns when everything is said and written, or when that takes too long.
    pub(super) fn take_leave(self) {
        let (done, end) = mpsc::channel();
        // Whoever writes to a client that does not read holds the lock for ever, so another thread waits for it.
        let leaving = move || {
            self.say_the_rest();
            if done.send(()).is_err() {
                tracing::debug!("nobody waits for the last words any more");
            }
        };
        match thread::Builder::new().name("parting".into()).spawn(leaving) {
            Ok(_) if end.recv_timeout(BOUND).is_err() => tracing::debug!("the client does not read to the end"),
            Ok(_) => {}
            Err(cause) => tracing::error!(%cause, "no thread for the last words"),
        }
    }

    fn say_the_rest(&self) {
        let until = Instant::now() + PATIENCE;
        let mut state = lock(&self.state);
        state.awaited.end_after(PATIENCE);
        let outputs = state.engine.end_subscriptions();
        state.play(outputs, &self.wakes);
        state.output.flush();
        while state.awaited.worth_waiting(&state.engine).next().is_some() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.woken.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.output.finish();
    }
}
