//! The URLs that the user was sent to, until the server tells that a visit is over (2025-11-25, elicitation, "Completion
//! Notifications for URL Mode Elicitation").

use std::collections::HashSet;

use tokio::sync::watch;

/// How many visits may be open; more are not waited for.
const MEMORY: usize = 1_024;

/// The open visits, by the ids that the server gave them.
#[derive(Debug, Default)]
pub(crate) struct Elicitations {
    open: watch::Sender<HashSet<String>>,
}

impl Elicitations {
    /// A visit that the user is asked for.
    pub(crate) fn begin(&self, id: &str) {
        self.open.send_if_modified(|open| open.len() < MEMORY && open.insert(id.to_owned()));
    }

    /// A visit is over, or does not take place. Whether there was one of that id: "Clients MUST ignore notifications
    /// referencing unknown or already-completed IDs".
    pub(crate) fn end(&self, id: &str) -> bool {
        self.open.send_if_modified(|open| open.remove(id))
    }

    /// Returns once none of these is open.
    pub(crate) async fn until_over(&self, ids: &[String]) {
        let over = |open: &HashSet<String>| !ids.iter().any(|id| open.contains(id));
        // The sender lives in `self`, so the only way out is the value.
        let _ = self.open.subscribe().wait_for(over).await;
    }
}
