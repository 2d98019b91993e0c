//! The last activity of a request.

use std::sync::{Mutex, PoisonError};

use tokio::{sync::Notify, time::Instant};

/// The time of the last activity.
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
    /// Records activity.
    pub(crate) fn touch(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.changed.notify_one();
    }

    /// The time of the last activity, initially the start of the request.
    pub(crate) fn last(&self) -> Instant {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for activity.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }
}
