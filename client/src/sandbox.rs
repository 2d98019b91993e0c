//! The sandbox that the host runs things in, told to servers that ask to know it.
//!
//! An extension of Codex, not of the specification: a server declares the experimental capability `codex/sandbox-state` to be
//! sent `codex/sandbox-state/update` once it is ready and at each change, and `codex/sandbox-state-meta` to find the state in
//! `_meta` of each call. What a state holds is the host's and the server's business; nobody else is told.

use serde_json::Value;
use tokio::sync::watch;

/// The capability to be sent changes.
pub(crate) const CAPABILITY: &str = "codex/sandbox-state";
/// The request that carries them.
pub(crate) const UPDATE: &str = "codex/sandbox-state/update";
/// The capability to be told with each call, and the key in `_meta`.
pub(crate) const META: &str = "codex/sandbox-state-meta";

/// The state of the host's sandbox. Clones share it.
#[derive(Debug, Clone)]
pub struct SandboxState {
    state: watch::Sender<Value>,
}

impl SandboxState {
    /// A sandbox in this state: an object, in Codex's words (`sandboxPolicy`, `sandboxCwd`).
    #[must_use]
    pub fn new(state: Value) -> Self {
        Self { state: watch::Sender::new(state) }
    }

    /// Changes it. Servers that want to know are told, unless it is what it was.
    pub fn set(&self, state: Value) {
        self.state.send_if_modified(|known| {
            let changed = *known != state;
            *known = state;
            changed
        });
    }

    /// What it is now.
    #[must_use]
    pub fn now(&self) -> Value {
        self.state.borrow().clone()
    }

    /// It, and each change from now on.
    pub(crate) fn watch(&self) -> watch::Receiver<Value> {
        self.state.subscribe()
    }
}
