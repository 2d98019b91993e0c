//! When a request last showed a sign of life.

use std::sync::{Mutex, PoisonError};

use tokio::{sync::Notify, time::Instant};

/// The clock of one request.
#[derive(Debug)]
pub(crate) struct Progress {
    last: Mutex<Instant>,
    changed: Notify,
}

impl Default for Progress {
    fn default() -> Self {
        Self { last: Mutex::new(Instant::now()), changed: Notify::new() }
    }
}

impl Progress {
    /// Takes note of a sign of life.
    pub(crate) fn touch(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.changed.notify_one();
    }

    /// When the last sign of life was seen; the start of the request counts as one.
    pub(crate) fn last(&self) -> Instant {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next sign of life.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }
}
