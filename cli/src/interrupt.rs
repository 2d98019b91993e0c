//! Interruption by the user. An interrupted run stops its processes and still reports its results.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::runtime::Runtime;

#[cfg(unix)]
use self::unix::{Signals, terminate};
#[cfg(windows)]
use self::windows::{Signals, terminate};
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

/// SIGINT and SIGTERM from now on; on Windows the events of the console.
pub(crate) struct Interrupts(Signals);

/// A signal that requests a stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interrupt {
    /// SIGINT, or Ctrl+C.
    Interrupt,
    /// SIGTERM, or the end of the console.
    Terminate,
}

impl Interrupts {
    /// Starts watching. SIGINT and SIGTERM no longer terminate the process by themselves.
    pub(crate) fn watch() -> Result<Self, CommandError> {
        Signals::watch().map(Self).map_err(CommandError::environment)
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) -> Interrupt {
        self.0.next().await
    }
}

impl Interrupt {
    /// Terminates the process as the signal does by default. Returns only if that fails, and on Windows, where the exit code
    /// is that of an environment error.
    pub(crate) fn terminate(self) -> CommandError {
        terminate(self)
    }
}
