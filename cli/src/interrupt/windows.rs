//! Windows: Ctrl+C, Ctrl+Break, and the closing of the console.

use std::io;

use anyhow::anyhow;
use tokio::signal::windows::{CtrlBreak, CtrlC, CtrlClose, ctrl_break, ctrl_c, ctrl_close};

use super::Interrupt;
use crate::error::CommandError;

pub(super) struct Signals {
    interrupt: CtrlC,
    terminate: CtrlBreak,
    close: CtrlClose,
}

impl Signals {
    pub(super) fn watch() -> io::Result<Self> {
        Ok(Self { interrupt: ctrl_c()?, terminate: ctrl_break()?, close: ctrl_close()? })
    }

    pub(super) async fn next(&mut self) -> Interrupt {
        tokio::select! {
            _ = self.interrupt.recv() => Interrupt::Interrupt,
            _ = self.terminate.recv() => Interrupt::Terminate,
            _ = self.close.recv() => Interrupt::Terminate,
        }
    }
}

/// Windows has no default effect of a signal that could be repeated, so the command ends with an error.
pub(super) fn terminate(interrupt: Interrupt) -> CommandError {
    CommandError::environment(match interrupt {
        Interrupt::Interrupt => anyhow!("interrupted"),
        Interrupt::Terminate => anyhow!("terminated"),
    })
}
