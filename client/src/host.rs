//! What servers ask of the user: to fill in a form, to visit a URL, to let the model speak, and where the user works.
//!
//! A [`HostLink`] joins connections with one user interface. Requests of several servers, and several of one, arrive on one
//! channel and are answered in any order; each knows its server and its id. Where nobody subscribes, questions are
//! declined. Nothing here shows anything to anybody: that, and consent, are the subscriber's.

mod desk;
mod form;
mod request;

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, watch};

pub(crate) use desk::Desk;
pub use form::{FieldProblem, Form, FormField};
pub use request::{AnswerError, Ask, HostRequest};

/// How many requests may wait for the user. Beyond that a server has to be told no.
const WAITING: usize = 256;

/// What a host program can do for servers; only that is declared to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostSupport {
    /// Show forms (elicitation, form mode).
    pub forms: bool,
    /// Send the user to URLs (elicitation, URL mode).
    pub urls: bool,
    /// Let the model speak (sampling).
    pub sampling: bool,
    /// Let it use tools that the server names (sampling with tools, 2025-11-25 and later).
    pub sampling_tools: bool,
    /// Say where the user works (roots).
    pub roots: bool,
    /// Wait for tasks (the extension `io.modelcontextprotocol/tasks`, 2026-07-28).
    pub tasks: bool,
}

impl HostSupport {
    /// Everything.
    pub const ALL: Self =
        Self { forms: true, urls: true, sampling: true, sampling_tools: true, roots: true, tasks: true };
    /// Nothing: where to start from to name the few things that are there.
    pub const NONE: Self =
        Self { forms: false, urls: false, sampling: false, sampling_tools: false, roots: false, tasks: false };
}

/// A place in which the user works (2025-11-25, client, "Roots").
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Root {
    /// A `file://` URI.
    pub uri: String,
    /// A name for people.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<String>,
}

/// Joins connections with a user interface. Clones are one link.
#[derive(Debug, Clone)]
pub struct HostLink {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    support: HostSupport,
    subscriber: Mutex<Option<mpsc::Sender<HostRequest>>>,
    roots: watch::Sender<Vec<Root>>,
    asked: AtomicU64,
}

impl HostLink {
    /// A link to which nobody has subscribed yet.
    #[must_use]
    pub fn new(support: HostSupport) -> Self {
        let (subscriber, roots) = (Mutex::default(), watch::Sender::new(Vec::new()));
        Self { shared: Arc::new(Shared { support, subscriber, roots, asked: AtomicU64::new(0) }) }
    }

    /// What the host program can do.
    #[must_use]
    pub fn support(&self) -> HostSupport {
        self.shared.support
    }

    /// The requests from now on. One subscriber is asked: the last one that came.
    #[must_use]
    pub fn subscribe(&self) -> HostRequests {
        let (sender, receiver) = mpsc::channel(WAITING);
        *self.shared.subscriber.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        HostRequests { receiver }
    }

    /// Says where the user works. Servers of the legacy era are told that it has changed; those of 2026-07-28 ask again
    /// when they need it.
    pub fn set_roots(&self, roots: Vec<Root>) {
        self.shared.roots.send_if_modified(|known| {
            let changed = *known != roots;
            *known = roots;
            changed
        });
    }

    /// Where the user works.
    #[must_use]
    pub fn roots(&self) -> Vec<Root> {
        self.shared.roots.borrow().clone()
    }

    /// Hears of changes of the roots from now on.
    pub(crate) fn watch_roots(&self) -> watch::Receiver<Vec<Root>> {
        self.shared.roots.subscribe()
    }

    fn next_number(&self) -> u64 {
        self.shared.asked.fetch_add(1, Ordering::Relaxed)
    }

    /// Hands a request to the subscriber; false where there is none, or none that keeps up.
    fn hand_over(&self, request: HostRequest) -> bool {
        let subscriber = self.shared.subscriber.lock().unwrap_or_else(PoisonError::into_inner);
        subscriber.as_ref().is_some_and(|subscriber| subscriber.try_send(request).is_ok())
    }
}

/// What servers ask, in the order in which it came. Dropped, it leaves nobody subscribed.
#[derive(Debug)]
pub struct HostRequests {
    receiver: mpsc::Receiver<HostRequest>,
}

impl HostRequests {
    /// The next request; `None` once the link is gone or somebody else has subscribed.
    pub async fn next(&mut self) -> Option<HostRequest> {
        self.receiver.recv().await
    }
}
