//! One start of a server, which all who want the server share. It goes on if they stop waiting.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures::FutureExt as _;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{
    ServerError,
    server::{Manner, Outcome, Server},
};
use crate::chance::draw;

/// Makes a connection and tells everybody.
pub(super) async fn run(
    server: Arc<Server>,
    manner: Manner,
    epoch: u64,
    stop: CancellationToken,
    told: watch::Sender<Option<Outcome>>,
) {
    let name = server.spec().name().to_owned();
    let outcome = tokio::select! {
        biased;
        // Dropping the attempt ends whatever it has started.
        () = stop.cancelled() => Err(ServerError::Stopped { server: name }),
        // A connector that panics costs its own server and nobody else's.
        outcome = AssertUnwindSafe(attempts(&server, manner)).catch_unwind() => {
            outcome.unwrap_or(Err(ServerError::GaveUp { server: name, failures: 1, last: "its start broke off".into() }))
        }
    };
    told.send_replace(Some(server.settle(epoch, outcome)));
}

async fn attempts(server: &Arc<Server>, manner: Manner) -> Outcome {
    let options = &server.shared.options;
    loop {
        let (failures, failed_at) = server.failures();
        if let Some(failed_at) = failed_at {
            tokio::time::sleep_until(failed_at + options.backoff.wait(failures, draw())).await;
        }
        let attempt = options.connector.connect(server.spec().config.clone(), options.connect.clone());
        let error = match attempt.await {
            Ok(connection) => return Ok(connection),
            Err(error) => server.note_failure(ServerError::Start(Arc::new(error))),
        };
        if manner == Manner::Once || error.is_permanent() {
            return Err(error);
        }
    }
}
