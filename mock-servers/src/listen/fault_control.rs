//! Control of the persistent faults of a running server.

use std::{
    fmt,
    sync::{Arc, OnceLock, Weak},
};

use crate::faults::FaultState;

/// The shared state of a transport, which enables and disables faults.
pub(crate) trait FaultControl: Send + Sync {
    /// Enables or disables the faults of this name; returns whether there are any.
    fn switch(&self, name: &str, enabled: bool) -> bool;
    /// The faults, in the order of the script.
    fn faults(&self) -> Vec<FaultState>;
    /// Resets all counters, and every fault to its initial state.
    fn reset(&self);
}

/// The shared state of the transport, once it exists. The slot does not keep it alive.
#[derive(Default)]
pub(super) struct FaultControlSlot(OnceLock<Weak<dyn FaultControl>>);

impl fmt::Debug for FaultControlSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Socket")
    }
}

impl FaultControlSlot {
    pub(super) fn connect(&self, slot: Weak<dyn FaultControl>) {
        if self.0.set(slot).is_err() {
            tracing::warn!("the faults of a server have a switch already");
        }
    }

    pub(super) fn switch(&self) -> FaultHandle {
        FaultHandle { slot: self.0.get().cloned() }
    }
}

/// Enables and disables the persistent faults of a server, those of `faults:` in its script. Clones control the same
/// server. A stopped server has no faults.
#[derive(Clone)]
pub struct FaultHandle {
    slot: Option<Weak<dyn FaultControl>>,
}

impl fmt::Debug for FaultHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FaultSwitch").field(&self.list()).finish()
    }
}

impl FaultHandle {
    /// The handle of this slot's faults.
    pub(crate) fn new<B: FaultControl + 'static>(slot: &Arc<B>) -> Self {
        let socket = FaultControlSlot::default();
        let slot: Weak<B> = Arc::downgrade(slot);
        socket.connect(slot);
        socket.switch()
    }

    /// Enables the faults of this name; returns whether there are any.
    #[must_use = "a fault that does not exist is not switched"]
    pub fn enable(&self, name: &str) -> bool {
        self.set(name, true)
    }

    /// Disables the faults of this name; returns whether there are any.
    #[must_use = "a fault that does not exist is not switched"]
    pub fn disable(&self, name: &str) -> bool {
        self.set(name, false)
    }

    /// Enables or disables the faults of this name; returns whether there are any.
    #[must_use = "a fault that does not exist is not switched"]
    pub fn set(&self, name: &str, enabled: bool) -> bool {
        self.slot().is_some_and(|slot| slot.switch(name, enabled))
    }

    /// The faults, in the order of the script.
    #[must_use]
    pub fn list(&self) -> Vec<FaultState> {
        self.slot().map(|slot| slot.faults()).unwrap_or_default()
    }

    /// Resets the counters (`nth` of rules, faults and tools) and the faults to their initial state. Random values
    /// depend on the counters and start again too. Sessions, and changes by the script, stay.
    pub fn reset(&self) {
        if let Some(slot) = self.slot() {
            slot.reset();
        }
    }

    fn slot(&self) -> Option<Arc<dyn FaultControl>> {
        self.slot.as_ref()?.upgrade()
    }
}
