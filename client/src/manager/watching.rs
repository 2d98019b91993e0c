//! Keeping an eye on a connection: its end, and the changes that the server announces.

use std::sync::Arc;

use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use super::{Debounce, server::Server};
use crate::connection::Connection;

/// Watches a connection to its end.
pub(super) async fn run(server: Arc<Server>, connection: Connection, epoch: u64) {
    let retired = server.retired.clone();
    let debounce = server.shared.options.debounce;
    tokio::select! {
        biased;
        () = retired.cancelled() => {}
        reason = connection.ended() => server.lost(epoch, &reason),
        () = follow(&server, &connection, debounce) => {}
    }
}

/// Reads the list again after each burst of announcements.
async fn follow(server: &Server, connection: &Connection, debounce: Debounce) {
    let mut changes = connection.tool_changes();
    loop {
        settled(&mut changes, debounce).await;
        server.shared.cache.forget(&server.spec().asker());
        // Whoever has not asked for the tools yet reads the new list anyway. A failure is an event, and the old list stays.
        if connection.known_tools().is_some()
            && let Err(error) = connection.refresh().await
        {
            tracing::debug!(server = connection.name(), %error, "the old list of tools stays");
        }
    }
}

/// Returns when something has changed and then nothing more for a while, or for too long not nothing.
async fn settled(changes: &mut watch::Receiver<u64>, debounce: Debounce) {
    if changes.changed().await.is_err() {
        return std::future::pending().await;
    }
    let latest = Instant::now() + debounce.at_most;
    loop {
        let quiet = (Instant::now() + debounce.quiet).min(latest);
        tokio::select! {
            biased;
            () = sleep_until(quiet) => return,
            changed = changes.changed() => {
                if changed.is_err() {
                    return std::future::pending().await;
                }
            }
        }
    }
}
