//! Interruption by the user: a run that is interrupted ends its processes and still shows what it has.

use anyhow::anyhow;
use signal_hook::consts::{SIGINT, SIGTERM};
use tokio::{
    runtime::Runtime,
    signal::unix::{Signal, SignalKind, signal},
};

use crate::failure::Failure;

/// A runtime on all cores.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::environment)
}

/// Returns when the user, or the system, asks the program to stop (SIGINT, SIGTERM). Where that cannot be watched for,
/// it never returns and the signal keeps its usual meaning.
pub(crate) async fn asked() {
    match Interrupts::watch() {
        Ok(mut interrupts) => {
            interrupts.next().await;
        }
        Err(_) => std::future::pending().await,
    }
}

/// The requests to stop that come from now on.
pub(crate) struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
}

/// A request to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interrupt {
    /// SIGINT.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

impl Interrupts {
    /// Watches for SIGINT and SIGTERM: from here on they no longer end the process by themselves.
    pub(crate) fn watch() -> Result<Self, Failure> {
        let watch = |kind| signal(kind).map_err(Failure::environment);
        Ok(Self { interrupt: watch(SignalKind::interrupt())?, terminate: watch(SignalKind::terminate())? })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) -> Interrupt {
        tokio::select! {
            _ = self.interrupt.recv() => Interrupt::Interrupt,
            _ = self.terminate.recv() => Interrupt::Terminate,
        }
    }
}

impl Interrupt {
    /// Ends the process as the signal does where nobody watches for it; what comes back says why it did not.
    pub(crate) fn die(self) -> Failure {
        let signal = match self {
            Self::Interrupt => SIGINT,
            Self::Terminate => SIGTERM,
        };
        match signal_hook::low_level::emulate_default_handler(signal) {
            Ok(()) => Failure::fault(anyhow!("the process outlived its own end")),
            Err(cause) => Failure::environment(cause),
        }
    }
}
