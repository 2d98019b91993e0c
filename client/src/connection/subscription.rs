//! Subscriptions to changes. In 2026-07-28 a server only notifies clients with an open subscription (patterns,
//! "Subscriptions"); earlier revisions always announce changed lists, and changed resources to subscribers.

use std::{
    collections::BTreeSet,
    sync::{Arc, MutexGuard, PoisonError},
    time::Duration,
};

use rmcp::{
    RoleClient,
    model::{ClientRequest, CustomRequest, RequestId},
    service::{Peer, PeerRequestOptions, ServiceError},
};
use serde_json::{Map, Value, json};

use super::{Connection, cancellation::Cancellations};
use crate::{error::CallError, event::ClientEventKind, tracker::RequestTracker};

/// Maximum number of attempts to reopen a subscription.
const RETRIES: u32 = 5;
/// Timeout for the acknowledgement of a subscription. Lists are then read without it.
const ACKNOWLEDGEMENT: Duration = Duration::from_secs(1);
/// Delay before the first attempt. It doubles with each attempt.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// The lists whose changes can be announced, and the field that subscribes to each.
const LISTS: [(&str, &str); 3] =
    [("tools", "toolsListChanged"), ("prompts", "promptsListChanged"), ("resources", "resourcesListChanged")];

impl Connection {
    /// Subscribes in the background, if the era requires it and the server declares announcements. Notifications
    /// arrive as in the legacy era.
    pub(super) fn subscribe_to_changes(&self) {
        let tracker = Arc::clone(&self.inner.tracker);
        let announced = LISTS.into_iter().filter(|(lists, _)| tracker.announces(lists));
        let filter: Map<_, _> = announced.map(|(_, wanted)| (wanted.to_owned(), true.into())).collect();
        if !self.rules().subscriptions || filter.is_empty() {
            return tracker.listens();
        }
        // The task must not own the connection, or the connection would never be dropped.
        let peer = self.inner.peer.clone();
        let listening = tokio::spawn(async move {
            listen(&peer, &tracker, filter, None, || tracker.missed_changes()).await;
            // The subscription was rejected or ended too often, so there is nothing to wait for.
            tracker.listens();
        });
        *self.inner.subscription.lock().unwrap_or_else(PoisonError::into_inner) = Some(listening.abort_handle());
    }

    /// Waits briefly for the subscription. A change between reading a list and the acknowledgement is not announced.
    pub(super) async fn until_listening(&self) {
        if tokio::time::timeout(ACKNOWLEDGEMENT, self.inner.tracker.until_listening()).await.is_err() {
            tracing::debug!(server = self.name(), "the subscription to changes is not acknowledged");
            // Do not wait again for a server without acknowledgements.
            self.inner.tracker.listens();
        }
    }

    /// Subscribes to changes of a resource, until [`Self::unsubscribe_resource`] or the end of the connection. Changes
    /// are reported as [`ClientEventKind::ResourceUpdated`]. In 2026-07-28 this waits briefly for the acknowledgement,
    /// because changes before it are not announced.
    ///
    /// # Errors
    /// A [`CallError`].
    pub async fn subscribe_resource(&self, uri: &str) -> Result<(), CallError> {
        if !self.rules().subscriptions {
            self.plain("resources/subscribe", json!({ "uri": uri }), None).await?;
        } else {
            self.require_subscriptions()?;
            if self.watch(uri)
                && tokio::time::timeout(ACKNOWLEDGEMENT, self.inner.tracker.until_watching(uri)).await.is_err()
            {
                tracing::debug!(server = self.name(), uri, "the subscription to a resource is not acknowledged");
            }
        }
        self.subscribed().insert(uri.to_owned());
        Ok(())
    }

    /// The resources with a subscription, also after the end of the connection. A new connection to the server needs new ones:
    /// "Active `subscriptions/listen` streams must also be re-established after restart" (2026-07-28, basic/transports/stdio).
    #[must_use]
    pub fn subscribed_resources(&self) -> Vec<String> {
        self.subscribed().iter().cloned().collect()
    }

    /// Subscribes to the resources of an earlier connection to the server. Those that fail are omitted: the server may no longer
    /// have them.
    pub async fn subscribe_again(&self, resources: Vec<String>) {
        for uri in resources {
            if let Err(error) = self.subscribe_resource(&uri).await {
                tracing::debug!(server = self.name(), uri, %error, "the subscription to a resource is not renewed");
            }
        }
    }

    fn subscribed(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.inner.subscribed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the subscription to a resource in the background. Returns false if it is open.
    fn watch(&self, uri: &str) -> bool {
        let mut watched = self.inner.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if watched.get(uri).is_some_and(|task| !task.is_finished()) {
            return false;
        }
        let filter = Map::from_iter([("resourceSubscriptions".to_owned(), json!([uri]))]);
        let (peer, tracker, jobs) =
            (self.inner.peer.clone(), Arc::clone(&self.inner.tracker), self.inner.cancellations.clone());
        let resource = uri.to_owned();
        let listening = tokio::spawn(async move {
            let missed = || tracker.reporter.report(|| ClientEventKind::ResourceUpdated { uri: resource.clone() });
            listen(&peer, &tracker, filter, Some(jobs), missed).await;
        });
        watched.insert(uri.to_owned(), listening);
        true
    }

    /// Ends a subscription. In 2026-07-28 this waits briefly until the server is notified, so that changes that a later
    /// request causes are not reported.
    ///
    /// # Errors
    /// A [`CallError`].
    pub async fn unsubscribe_resource(&self, uri: &str) -> Result<(), CallError> {
        self.subscribed().remove(uri);
        if !self.rules().subscriptions {
            return self.plain("resources/unsubscribe", json!({ "uri": uri }), None).await.map(drop);
        }
        let watching = self.inner.watched.lock().unwrap_or_else(PoisonError::into_inner).remove(uri);
        if let Some(task) = watching {
            task.abort();
            self.inner.tracker.stops_watching(uri);
            // The aborted task queues the cancellation when it ends.
            let _ = task.await;
            self.flush_cancellations().await;
        }
        Ok(())
    }

    pub(super) fn stop_subscription(&self) {
        self.inner.stop_listening();
    }
}

impl super::Inner {
    /// Ends all subscriptions. It needs no runtime.
    pub(super) fn stop_listening(&self) {
        if let Some(task) = self.subscription.lock().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
        for (_, task) in self.watched.lock().unwrap_or_else(PoisonError::into_inner).drain() {
            task.abort();
        }
    }
}

/// An open subscription, which is cancelled on drop.
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

/// Keeps a subscription open until the server rejects it or ends it too often. `missed` is called when changes may
/// have been missed. With `jobs`, dropping the future cancels the subscription at the server.
async fn listen(
    peer: &Peer<RoleClient>,
    tracker: &RequestTracker,
    filter: Map<String, Value>,
    jobs: Option<Cancellations>,
    missed: impl Fn() + Send,
) {
    for attempt in 0..=RETRIES {
        if attempt > 0 {
            tokio::time::sleep(FIRST_WAIT * 2_u32.pow(attempt - 1)).await;
            // Changes in the meantime were not announced.
            missed();
        }
        let params = json!({ "notifications": filter });
        let request = ClientRequest::CustomRequest(CustomRequest::new("subscriptions/listen", Some(params)));
        // No timeout: the response arrives when the server ends the subscription.
        let Ok(handle) = peer.send_request_with_option(request, PeerRequestOptions::no_options()).await else { return };
        let mut open = Open { id: handle.id.clone(), jobs: jobs.clone() };
        let ended = handle.rx.await;
        open.jobs = None;
        // Without a response, nothing else removes the entry.
        tracker.settle(&open.id);
        match ended {
            Ok(Ok(_)) => tracing::debug!("the server ended the subscription"),
            Ok(Err(ServiceError::McpError(error))) => {
                tracing::debug!(%error, "the server rejected the subscription");
                return;
            }
            Ok(Err(error)) => tracing::debug!(%error, "the subscription failed"),
            Err(_) => return,
        }
    }
}
