//! Interruption by the user. An interrupted run stops its processes and still reports its results.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::anyhow;
use signal_hook::consts::{SIGINT, SIGTERM};
use tokio::{
    runtime::Runtime,
    signal::unix::{Signal, SignalKind, signal},
};

use crate::error::CommandError;

/// A runtime on all cores.
pub(crate) fn runtime() -> Result<Runtime, CommandError> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(CommandError::environment)
}

/// A runtime on the current thread.
pub(crate) fn runtime_on_one_thread() -> Result<Runtime, CommandError> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(CommandError::environment)
}

/// Whether the user has interrupted a run of this process.
static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Whether [`requested`] has returned before.
pub(crate) fn was_requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

/// Waits for SIGINT or SIGTERM. If they cannot be watched, it never returns and they keep their default effect.
pub(crate) async fn requested() {
    match Interrupts::watch() {
        Ok(mut interrupts) => {
            interrupts.next().await;
            REQUESTED.store(true, Ordering::Relaxed);
        }
        Err(_) => std::future::pending().await,
    }
}

/// SIGINT and SIGTERM from now on.
pub(crate) struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
}

/// A signal that requests a stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interrupt {
    /// SIGINT.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

impl Interrupts {
    /// Starts watching. SIGINT and SIGTERM no longer terminate the process by themselves.
    pub(crate) fn watch() -> Result<Self, CommandError> {
        let watch = |kind| signal(kind).map_err(CommandError::environment);
        Ok(Self { interrupt: watch(SignalKind::interrupt())?, terminate: watch(SignalKind::terminate())? })
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) -> Interrupt {
        tokio::select! {
            _ = self.interrupt.recv() => Interrupt::Interrupt,
            _ = self.terminate.recv() => Interrupt::Terminate,
        }
    }
}

impl Interrupt {
    /// Terminates the process as the signal does by default. Returns only if that fails.
    pub(crate) fn terminate(self) -> CommandError {
        let signal = match self {
            Self::Interrupt => SIGINT,
            Self::Terminate => SIGTERM,
        };
        match signal_hook::low_level::emulate_default_handler(signal) {
            Ok(()) => CommandError::internal(anyhow!("the process did not terminate")),
            Err(cause) => CommandError::environment(cause),
        }
    }
}
