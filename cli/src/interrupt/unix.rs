//! Unix: SIGINT and SIGTERM.

use std::io;

use anyhow::anyhow;
use signal_hook::consts::{SIGINT, SIGTERM};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::Interrupt;
use crate::error::CommandError;

pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    pub(super) fn watch() -> io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    pub(super) async fn next(&mut self) -> Interrupt {
        tokio::select! {
            _ = self.interrupt.recv() => Interrupt::Interrupt,
            _ = self.terminate.recv() => Interrupt::Terminate,
        }
    }
}

pub(super) fn terminate(interrupt: Interrupt) -> CommandError {
    let signal = match interrupt {
        Interrupt::Interrupt => SIGINT,
        Interrupt::Terminate => SIGTERM,
    };
    match signal_hook::low_level::emulate_default_handler(signal) {
        Ok(()) => CommandError::internal(anyhow!("the process did not terminate")),
        Err(cause) => CommandError::environment(cause),
    }
}
