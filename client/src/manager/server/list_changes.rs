//! Watches a connection: its end, and announced changes.

use std::sync::Arc;

use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use super::Server;
use crate::{connection::Connection, manager::Debounce};

/// Watches a connection until it ends.
pub(super) async fn run(server: Arc<Server>, connection: Connection, epoch: u64) {
    let retired = server.retired.clone();
    let debounce = server.shared.options.debounce;
    tokio::select! {
        biased;
        () = retired.cancelled() => {}
        reason = connection.ended() => server.on_disconnect(epoch, &reason),
        () = follow(&server, &connection, debounce) => {}
    }
}

/// Reads the list again after each burst of announcements.
async fn follow(server: &Server, connection: &Connection, debounce: Debounce) {
    let mut changes = connection.tool_changes();
    loop {
        settled(&mut changes, debounce).await;
        server.shared.cache.remove(&server.spec().cache_key());
        // Without a cached list, the next caller reads the new one. A failure is reported as an event, and the old
        // list is kept.
        if connection.known_tools().is_some()
            && let Err(error) = connection.refresh().await
        {
            tracing::debug!(server = connection.name(), %error, "keeping the old list of tools");
        }
    }
}

/// Waits for a change, and then until no further change follows or the maximum delay has elapsed.
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
