//! The runtime of a command, and its interruption by the user.

use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{SignalKind, signal},
};

use crate::error::CommandError;

/// A runtime on all cores.
pub(crate) fn runtime() -> Result<Runtime, CommandError> {
    Builder::new_multi_thread().enable_all().build().map_err(CommandError::environment)
}

/// Waits for SIGINT or SIGTERM. If they cannot be watched, they keep their default effect.
pub(crate) async fn requested() {
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
