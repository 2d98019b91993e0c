//! Elicitations in URL mode, until the server reports their completion (2025-11-25, elicitation, "Completion
//! Notifications for URL Mode Elicitation").

use std::collections::HashSet;

use tokio::sync::watch;

/// Maximum number of open elicitations. Further ones are not awaited.
const MEMORY: usize = 1_024;

/// The ids of open elicitations.
#[derive(Debug, Default)]
pub(crate) struct Elicitations {
    open: watch::Sender<HashSet<String>>,
}

impl Elicitations {
    /// Records an elicitation.
    pub(crate) fn begin(&self, id: &str) {
        self.open.send_if_modified(|open| open.len() < MEMORY && open.insert(id.to_owned()));
    }

    /// Removes an elicitation, and returns whether it was open: "Clients MUST ignore notifications referencing unknown
    /// or already-completed IDs".
    pub(crate) fn end(&self, id: &str) -> bool {
        self.open.send_if_modified(|open| open.remove(id))
    }

    /// Waits until none of these is open.
    pub(crate) async fn until_over(&self, ids: &[String]) {
        let completed = |open: &HashSet<String>| !ids.iter().any(|id| open.contains(id));
        // The sender is a field of `self`, so this cannot fail.
        let _ = self.open.subscribe().wait_for(completed).await;
    }
}
