//! Control of the persistent faults of a running server.

use std::{
    fmt,
    sync::{Arc, OnceLock, Weak},
};

use crate::faults::FaultState;

/// What can switch faults: the shared state of a front.
pub(crate) trait FaultControl: Send + Sync {
    /// Switches the faults of this name; false if there are none.
    fn switch(&self, name: &str, enabled: bool) -> bool;
    /// The faults, in the order of the script.
    fn faults(&self) -> Vec<FaultState>;
    /// Forgets what was counted, and switches every fault back to what the script says.
    fn reset(&self);
}

/// Where the state of a front is put as soon as there is one. It does not keep it alive.
#[derive(Default)]
pub(super) struct FaultControlSlot(OnceLock<Weak<dyn FaultControl>>);

impl fmt::Debug for FaultControlSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Socket")
    }
}

impl FaultControlSlot {
    pub(super) fn connect(&self, board: Weak<dyn FaultControl>) {
        if self.0.set(board).is_err() {
            tracing::warn!("the faults of a server have a switch already");
        }
    }

    pub(super) fn switch(&self) -> FaultHandle {
        FaultHandle { board: self.0.get().cloned() }
    }
}

/// Switches the standing faults of a server, those of `faults:` in its script. Clones switch the same. A server that has
/// ended has no faults.
#[derive(Clone)]
pub struct FaultHandle {
    board: Option<Weak<dyn FaultControl>>,
}

impl fmt::Debug for FaultHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FaultSwitch").field(&self.list()).finish()
    }
}

impl FaultHandle {
    /// The switch of this board's faults.
    pub(crate) fn of<B: FaultControl + 'static>(board: &Arc<B>) -> Self {
        let socket = FaultControlSlot::default();
        let board: Weak<B> = Arc::downgrade(board);
        socket.connect(board);
        socket.switch()
    }

    /// Switches the faults of this name on; false if there are none.
    #[must_use = "a fault that does not exist is not switched"]
    pub fn enable(&self, name: &str) -> bool {
        self.set(name, true)
    }

    /// Switches the faults of this name off; false if there are none.
    #[must_use = "a fault that does not exist is not switched"]
    pub fn disable(&self, name: &str) -> bool {
        self.set(name, false)
    }

    /// Switches the faults of this name; false if there are none.
    #[must_use = "a fault that does not exist is not switched"]
    pub fn set(&self, name: &str, enabled: bool) -> bool {
        self.board().is_some_and(|board| board.switch(name, enabled))
    }

    /// The faults, in the order of the script.
    #[must_use]
    pub fn list(&self) -> Vec<FaultState> {
        self.board().map(|board| board.faults()).unwrap_or_default()
    }

    /// Has the server count from the beginning again, and every fault as the script has it at the start: `nth` of rules,
    /// of faults and of tools, and with them what is drawn at random for a message. Sessions go on, and what a script has
    /// changed stays changed.
    pub fn reset(&self) {
        if let Some(board) = self.board() {
            board.reset();
        }
    }

    fn board(&self) -> Option<Arc<dyn FaultControl>> {
        self.board.as_ref()?.upgrade()
    }
}
