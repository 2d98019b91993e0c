//! The sandbox state of the host, for servers that request it.
//!
//! This is an extension of Codex. A server declares the experimental capability `codex/sandbox-state` to receive
//! `codex/sandbox-state/update` when it is ready and after each change, or `codex/sandbox-state-meta` to find the
//! state in `_meta` of each call. Other servers do not receive it.

use serde_json::Value;
use tokio::sync::watch;

/// Capability: receive updates.
pub(crate) const CAPABILITY: &str = "codex/sandbox-state";
/// The request with an update.
pub(crate) const UPDATE: &str = "codex/sandbox-state/update";
/// Capability: receive the state with each call; also the key in `_meta`.
pub(crate) const META: &str = "codex/sandbox-state-meta";

/// The sandbox state of the host. Clones share it.
#[derive(Debug, Clone)]
pub struct SandboxState {
    state: watch::Sender<Value>,
}

impl SandboxState {
    /// A state with this value, an object in the format of Codex (`sandboxPolicy`, `sandboxCwd`). `null` is unknown, and
    /// is not sent.
    #[must_use]
    pub fn new(state: Value) -> Self {
        Self { state: watch::Sender::new(state) }
    }

    /// Sets the state, and sends it to interested servers if it changed.
    pub fn set(&self, state: Value) {
        self.state.send_if_modified(|known| {
            let changed = *known != state;
            *known = state;
            changed
        });
    }

    /// The current state.
    #[must_use]
    pub fn now(&self) -> Value {
        self.state.borrow().clone()
    }

    /// Receives the state and its changes.
    pub(crate) fn watch(&self) -> watch::Receiver<Value> {
        self.state.subscribe()
    }
}
