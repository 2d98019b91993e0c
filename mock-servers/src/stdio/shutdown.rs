//! Graceful shutdown of a stdio server: pending responses are awaited and written, within a timeout.

use std::{
    sync::{Arc, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

use super::server::StdioServer;

/// Timeout for responses that are sent by wake-ups: a server should exit promptly when its input ends (2026-07-28,
/// stdio, shutdown).
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(500);
/// Timeout of the whole shutdown, for clients that read slowly or not at all.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// Returns when everything is written, or after the timeout.
pub(super) fn shut_down(server: Arc<StdioServer>) {
    let (done, end) = mpsc::channel();
    // A write to a client that does not read blocks with the lock held, so another thread shuts down.
    let finishing = move || {
        finish(&server);
        if done.send(()).is_err() {
            tracing::debug!("the shutdown finished after its timeout");
        }
    };
    match thread::Builder::new().name("shutdown".into()).spawn(finishing) {
        Ok(_) if end.recv_timeout(SHUTDOWN_TIMEOUT).is_err() => tracing::debug!("the client does not read to the end"),
        Ok(_) => {}
        Err(cause) => tracing::error!(%cause, "could not start the shutdown thread"),
    }
}

fn finish(server: &Arc<StdioServer>) {
    let until = Instant::now() + RESPONSE_TIMEOUT;
    let mut core = server.lock();
    core.pending.set_deadline(RESPONSE_TIMEOUT);
    server.end_subscriptions(&mut core, ());
    core.state.output.flush();
    while core.pending.before_deadline(&core.engine).next().is_some() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        core = server.sink.woken.wait_timeout(core, left).unwrap_or_else(PoisonError::into_inner).0;
    }
    core.state.output.finish();
}
