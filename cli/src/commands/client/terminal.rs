//! The terminal of the user. Questions of servers and of permissions share it, one dialog at a time.

use std::{
    io::{IsTerminal as _, stderr, stdin},
    sync::Arc,
};

use tokio::sync::{Mutex, MutexGuard};

use super::lines::StdinLines;

/// The terminal, if stdin and stderr are one.
#[derive(Debug)]
pub(super) struct Terminal {
    is_terminal: bool,
    lines: Mutex<Option<StdinLines>>,
}

/// Exclusive use of the terminal.
pub(super) struct Dialog<'t> {
    lines: MutexGuard<'t, Option<StdinLines>>,
}

impl Terminal {
    /// The terminal of this process.
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { is_terminal: stdin().is_terminal() && stderr().is_terminal(), lines: Mutex::default() })
    }

    /// Waits until no other dialog is open. Returns `None` without a terminal.
    pub(super) async fn dialog(&self) -> Option<Dialog<'_>> {
        if self.is_terminal { Some(Dialog { lines: self.lines.lock().await }) } else { None }
    }
}

impl Dialog<'_> {
    /// The lines that the user types.
    pub(super) fn lines(&mut self) -> &mut StdinLines {
        self.lines.get_or_insert_with(StdinLines::new)
    }
}
