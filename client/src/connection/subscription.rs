//! Hearing of changes on 2026-07-28: a server tells only those who listen (patterns, "Subscriptions").

use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

use rmcp::{
    RoleClient,
    model::{ClientRequest, CustomRequest},
    service::{Peer, PeerRequestOptions, ServiceError},
};
use serde_json::json;

use super::Connection;
use crate::{ledger::Ledger, revision::Era};

/// How often a subscription that ended is opened again before it is given up.
const RETRIES: u32 = 5;
/// How long a server may take to acknowledge a subscription before lists are read without it.
const ACKNOWLEDGEMENT: Duration = Duration::from_secs(1);
/// How long to wait before the first of these; each wait is twice the one before.
const FIRST_WAIT: Duration = Duration::from_millis(500);

impl Connection {
    /// Listens in the background, where the era asks for it and the server says that it has something to tell. The
    /// notifications themselves arrive as in the legacy era.
    pub(super) fn subscribe_to_changes(&self) {
        if self.era() == Era::Legacy || !self.announces_tool_changes() {
            self.inner.ledger.listens();
            return;
        }
        // The task holds no connection, or the connection would live for as long as it listens to itself.
        let (peer, ledger) = (self.inner.peer.clone(), Arc::clone(&self.inner.ledger));
        let listening = tokio::spawn(async move {
            listen(peer, Arc::clone(&ledger)).await;
            // It was refused, or given up: nobody is to wait for it.
            ledger.listens();
        });
        *self.inner.subscription.lock().unwrap_or_else(PoisonError::into_inner) = Some(listening.abort_handle());
    }

    /// Waits until changes are heard of, for a moment at most: what changes between the reading of a list and the
    /// acknowledgement of the subscription is never told.
    pub(super) async fn until_listening(&self) {
        if tokio::time::timeout(ACKNOWLEDGEMENT, self.inner.ledger.until_listening()).await.is_err() {
            tracing::debug!(server = self.name(), "the subscription to changes is not acknowledged");
            // A server that never says so is not waited for twice.
            self.inner.ledger.listens();
        }
    }

    pub(super) fn stop_subscription(&self) {
        if let Some(task) = self.inner.subscription.lock().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
    }
}

async fn listen(peer: Peer<RoleClient>, ledger: Arc<Ledger>) {
    for attempt in 0..=RETRIES {
        if attempt > 0 {
            tokio::time::sleep(FIRST_WAIT * 2_u32.pow(attempt - 1)).await;
            // Whatever changed while nobody listened was not told.
            ledger.tools_changed();
        }
        let params = json!({ "notifications": { "toolsListChanged": true } });
        let request = ClientRequest::CustomRequest(CustomRequest::new("subscriptions/listen", Some(params)));
        // No clock: the answer comes when the server ends the subscription.
        let Ok(handle) = peer.send_request_with_option(request, PeerRequestOptions::no_options()).await else { return };
        match handle.rx.await {
            Ok(Ok(_)) => tracing::debug!("the server ended the subscription"),
            Ok(Err(ServiceError::McpError(error))) => {
                tracing::debug!(%error, "the server refuses the subscription");
                return;
            }
            Ok(Err(error)) => tracing::debug!(%error, "the subscription broke"),
            Err(_) => return,
        }
    }
}
