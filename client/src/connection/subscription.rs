//! Hearing of changes. On 2026-07-28 a server tells only those who listen (patterns, "Subscriptions"); before, it tells
//! everybody of its lists, and those who subscribed of its resources.

use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

use rmcp::{
    RoleClient,
    model::{ClientRequest, CustomRequest, RequestId},
    service::{Peer, PeerRequestOptions, ServiceError},
};
use serde_json::{Map, Value, json};

use super::{Connection, cancellation::Cancellations};
use crate::{error::CallError, event::Happening, ledger::Ledger, revision::Era};

/// How often a subscription that ended is opened again before it is given up.
const RETRIES: u32 = 5;
/// How long a server may take to acknowledge a subscription before lists are read without it.
const ACKNOWLEDGEMENT: Duration = Duration::from_secs(1);
/// How long to wait before the first of these; each wait is twice the one before.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// Lists whose changes a server can announce, and what asks for that.
const LISTS: [(&str, &str); 3] =
    [("tools", "toolsListChanged"), ("prompts", "promptsListChanged"), ("resources", "resourcesListChanged")];

impl Connection {
    /// Listens in the background, where the era asks for it and the server says that it has something to tell. The
    /// notifications themselves arrive as in the legacy era.
    pub(super) fn subscribe_to_changes(&self) {
        let ledger = Arc::clone(&self.inner.ledger);
        let announced = LISTS.into_iter().filter(|(lists, _)| ledger.announces(lists));
        let filter: Map<_, _> = announced.map(|(_, wanted)| (wanted.to_owned(), true.into())).collect();
        if self.era() == Era::Legacy || !ledger.announces("tools") {
            ledger.listens();
        }
        if self.era() == Era::Legacy || filter.is_empty() {
            return;
        }
        // The task holds no connection, or the connection would live for as long as it listens to itself.
        let peer = self.inner.peer.clone();
        let listening = tokio::spawn(async move {
            listen(&peer, &ledger, filter, None, || ledger.missed_changes()).await;
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

    /// Asks to hear of changes of a resource, from now until [`Self::unsubscribe_resource`] or the end of the connection.
    /// They are events ([`Happening::ResourceUpdated`]). On 2026-07-28 this returns before the server has agreed.
    ///
    /// # Errors
    /// A [`CallError`].
    pub async fn subscribe_resource(&self, uri: &str) -> Result<(), CallError> {
        if self.era() == Era::Legacy {
            return self.plain("resources/subscribe", json!({ "uri": uri }), None).await.map(drop);
        }
        let mut watched = self.inner.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if watched.get(uri).is_some_and(|task| !task.is_finished()) {
            return Ok(());
        }
        let filter = Map::from_iter([("resourceSubscriptions".to_owned(), json!([uri]))]);
        let (peer, ledger, jobs) =
            (self.inner.peer.clone(), Arc::clone(&self.inner.ledger), self.inner.cancellations.clone());
        let resource = uri.to_owned();
        let listening = tokio::spawn(async move {
            let missed = || ledger.reporter.report(|| Happening::ResourceUpdated { uri: resource.clone() });
            listen(&peer, &ledger, filter, Some(jobs), missed).await;
        });
        watched.insert(uri.to_owned(), listening.abort_handle());
        Ok(())
    }

    /// Asks to hear no more of them.
    ///
    /// # Errors
    /// A [`CallError`].
    pub async fn unsubscribe_resource(&self, uri: &str) -> Result<(), CallError> {
        if self.era() == Era::Legacy {
            return self.plain("resources/unsubscribe", json!({ "uri": uri }), None).await.map(drop);
        }
        if let Some(task) = self.inner.watched.lock().unwrap_or_else(PoisonError::into_inner).remove(uri) {
            task.abort();
        }
        Ok(())
    }

    pub(super) fn stop_subscription(&self) {
        self.inner.stop_listening();
    }
}

impl super::Inner {
    /// Ends all subscriptions of this side. Works without a runtime.
    pub(super) fn stop_listening(&self) {
        if let Some(task) = self.subscription.lock().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
        for (_, task) in self.watched.lock().unwrap_or_else(PoisonError::into_inner).drain() {
            task.abort();
        }
    }
}

/// Cancels a subscription that is left.
struct Open {
    id: RequestId,
    jobs: Option<Cancellations>,
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(jobs) = &self.jobs {
            jobs.cancel(self.id.clone(), "not needed any more");
        }
    }
}

/// Listens until the server refuses, or has ended the subscription too often. `missed` is told when something may have
/// changed while nobody listened. With `jobs`, to drop this ends the subscription at the server.
async fn listen(
    peer: &Peer<RoleClient>,
    ledger: &Ledger,
    filter: Map<String, Value>,
    jobs: Option<Cancellations>,
    missed: impl Fn() + Send,
) {
    for attempt in 0..=RETRIES {
        if attempt > 0 {
            tokio::time::sleep(FIRST_WAIT * 2_u32.pow(attempt - 1)).await;
            // Whatever changed while nobody listened was not told.
            missed();
        }
        let params = json!({ "notifications": filter });
        let request = ClientRequest::CustomRequest(CustomRequest::new("subscriptions/listen", Some(params)));
        // No clock: the answer comes when the server ends the subscription.
        let Ok(handle) = peer.send_request_with_option(request, PeerRequestOptions::no_options()).await else { return };
        let mut open = Open { id: handle.id.clone(), jobs: jobs.clone() };
        let ended = handle.rx.await;
        open.jobs = None;
        // Where no answer came there is nobody else to strike it out.
        ledger.settle(&open.id);
        match ended {
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
