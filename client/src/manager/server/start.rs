//! A start of a server, shared by all callers. It continues if they stop waiting.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures::FutureExt as _;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{Outcome, Server, StartPolicy};
use crate::{jitter::draw, manager::ServerError};

/// Runs the start and publishes the outcome.
pub(super) async fn run(
    server: Arc<Server>,
    policy: StartPolicy,
    epoch: u64,
    stop: CancellationToken,
    sender: watch::Sender<Option<Outcome>>,
) {
    let name = server.spec().name().to_owned();
    let outcome = tokio::select! {
        biased;
        // Dropping the attempt stops everything that it started.
        () = stop.cancelled() => Err(ServerError::Stopped { server: name }),
        // A panic of a connector affects only its own server.
        outcome = AssertUnwindSafe(attempts(&server, policy)).catch_unwind() => {
            outcome.unwrap_or(Err(ServerError::GaveUp { server: name, failures: 1, last: "the start panicked".into() }))
        }
    };
    sender.send_replace(Some(server.settle(epoch, outcome)));
}

async fn attempts(server: &Arc<Server>, policy: StartPolicy) -> Outcome {
    let options = &server.shared.options;
    loop {
        let (failures, failed_at) = server.failures();
        if let Some(failed_at) = failed_at {
            tokio::time::sleep_until(failed_at + options.backoff.wait(failures, draw())).await;
        }
        let attempt = options.connector.connect(server.spec().config.clone(), server.connect_options());
        let error = match attempt.await {
            Ok(connection) => {
                server.remember(&connection);
                return Ok(connection);
            }
            Err(error) => server.note_failure(ServerError::Start(Arc::new(error))),
        };
        if policy == StartPolicy::Once || error.is_permanent() {
            return Err(error);
        }
    }
}
