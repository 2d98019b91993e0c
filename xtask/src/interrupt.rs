//! Interruption by the user: a run that is interrupted ends its processes and still shows what it has.

use tokio::{
    runtime::Runtime,
    signal::unix::{SignalKind, signal},
};

use crate::failure::Failure;

/// A runtime on all cores.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::environment)
}

/// Returns when the user, or the system, asks the program to stop (SIGINT, SIGTERM). Where that cannot be watched for,
/// it never returns and the signal keeps its usual meaning.
pub(crate) async fn asked() {
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
