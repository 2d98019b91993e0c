//! Server requests that the user answers: forms, URLs, sampling, and roots.
//!
//! A [`HostLink`] connects connections to one user interface. Requests of all servers arrive on one channel and may be
//! answered in any order; each has its server and its id. Without a subscriber, requests are declined. The subscriber
//! is responsible for the display and for consent.

mod dispatcher;
mod form;
mod request;

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, watch};

pub(crate) use dispatcher::HostDispatcher;
pub use form::{FieldProblem, Form, FormField};
pub use request::{HostRequest, HostRequestKind, HostResponseError};

/// Size of the queue. Further requests are declined.
const WAITING: usize = 256;

/// Features of the host program. Only these are declared to servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostSupport {
    /// Show forms (elicitation in form mode).
    pub forms: bool,
    /// Open URLs (elicitation in URL mode).
    pub urls: bool,
    /// Sample from the model.
    pub sampling: bool,
    /// Sample with tools of the server (2025-11-25 and later).
    pub sampling_tools: bool,
    /// Provide roots.
    pub roots: bool,
    /// Wait for tasks (the extension `io.modelcontextprotocol/tasks`, 2026-07-28).
    pub tasks: bool,
}

impl HostSupport {
    /// All features.
    pub const ALL: Self =
        Self { forms: true, urls: true, sampling: true, sampling_tools: true, roots: true, tasks: true };
    /// No feature.
    pub const NONE: Self =
        Self { forms: false, urls: false, sampling: false, sampling_tools: false, roots: false, tasks: false };
}

/// A directory or file that the user works on (2025-11-25, client, "Roots").
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Root {
    /// A `file://` URI.
    pub uri: String,
    /// A display name.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<String>,
}

/// Connects connections to a user interface. Clones share it.
#[derive(Debug, Clone)]
pub struct HostLink {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    support: HostSupport,
    subscriber: Mutex<Option<mpsc::Sender<HostRequest>>>,
    roots: watch::Sender<Vec<Root>>,
    requests: AtomicU64,
}

impl HostLink {
    /// A link without a subscriber.
    #[must_use]
    pub fn new(support: HostSupport) -> Self {
        let (subscriber, roots) = (Mutex::default(), watch::Sender::new(Vec::new()));
        Self { shared: Arc::new(Shared { support, subscriber, roots, requests: AtomicU64::new(0) }) }
    }

    /// The features of the host program.
    #[must_use]
    pub fn support(&self) -> HostSupport {
        self.shared.support
    }

    /// Subscribes to requests. A new subscriber replaces the previous one.
    #[must_use]
    pub fn subscribe(&self) -> HostRequests {
        let (sender, receiver) = mpsc::channel(WAITING);
        *self.shared.subscriber.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        HostRequests { receiver }
    }

    /// Sets the roots. Legacy servers are notified of a change; servers of 2026-07-28 request them when needed.
    pub fn set_roots(&self, roots: Vec<Root>) {
        self.shared.roots.send_if_modified(|known| {
            let changed = *known != roots;
            *known = roots;
            changed
        });
    }

    /// The current roots.
    #[must_use]
    pub fn roots(&self) -> Vec<Root> {
        self.shared.roots.borrow().clone()
    }

    /// Receives the roots and their changes.
    pub(crate) fn watch_roots(&self) -> watch::Receiver<Vec<Root>> {
        self.shared.roots.subscribe()
    }

    fn next_number(&self) -> u64 {
        self.shared.requests.fetch_add(1, Ordering::Relaxed)
    }

    /// Passes a request to the subscriber. Returns false if there is none, or its queue is full.
    fn hand_over(&self, request: HostRequest) -> bool {
        let subscriber = self.shared.subscriber.lock().unwrap_or_else(PoisonError::into_inner);
        subscriber.as_ref().is_some_and(|subscriber| subscriber.try_send(request).is_ok())
    }
}

/// Receives requests in the order of arrival. Dropping it unsubscribes.
#[derive(Debug)]
pub struct HostRequests {
    receiver: mpsc::Receiver<HostRequest>,
}

impl HostRequests {
    /// The next request; `None` if the link was dropped or the subscriber replaced.
    pub async fn next(&mut self) -> Option<HostRequest> {
        self.receiver.recv().await
    }
}
