//! A connection to one server.

mod cancellation;
mod features;
mod handler;
mod input_rounds;
mod listing;
mod request;
mod sandbox;
mod skills;
mod subscription;
mod tasks;
mod url_elicitation;

use std::{
    collections::{BTreeSet, HashMap},
    sync::{
        Arc, Mutex, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use evidence::Transport;
use rmcp::{
    RoleClient,
    model::RootsListChangedNotification,
    service::{Peer, RunningService},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::{
    sync::{broadcast, watch},
    task::{AbortHandle, JoinHandle},
};
use tokio_util::sync::CancellationToken;

pub use features::LOG_LEVELS;
pub(crate) use handler::Handler;
pub(crate) use request::{LOG_LEVEL, PendingRequest, RequestTimeouts};
pub use skills::{Skill, SkillError};

use crate::{
    config::{ServerConfig, Timeouts},
    direct::DirectCalls,
    event::{CallId, ClientEvent, ClientEventKind},
    host::{HostDispatcher, Root},
    lifecycle::Remembered,
    process::{ChildProcess, Closing},
    revision::{Era, Revision, Rules, rules},
    sandbox::{META, SandboxState},
    tracker::RequestTracker,
};
use cancellation::Cancellations;
use listing::Listing;

/// Timeout for closing the transport. An HTTP session is ended with DELETE.
const CLOSE_LIMIT: Duration = Duration::from_secs(8);

/// A connection to one server. Clones share it. Dropping the last one closes it without waiting.
#[derive(Debug, Clone)]
pub struct Connection {
    inner: Arc<Inner>,
}

/// The parts of a new connection.
pub(crate) struct Parts {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) tracker: Arc<RequestTracker>,
    pub(crate) dispatcher: Arc<HostDispatcher>,
    pub(crate) service: RunningService<RoleClient, Handler>,
    pub(crate) revision: Revision,
    pub(crate) transport: Transport,
    pub(crate) why: String,
    pub(crate) child: Option<ChildProcess>,
    /// Calls that bypass rmcp, if the transport allows them.
    pub(crate) direct: Option<DirectCalls>,
    pub(crate) sandbox: Option<SandboxState>,
}

#[derive(Debug)]
struct Inner {
    config: Arc<ServerConfig>,
    tracker: Arc<RequestTracker>,
    dispatcher: Arc<HostDispatcher>,
    peer: Peer<RoleClient>,
    service: tokio::sync::Mutex<RunningService<RoleClient, Handler>>,
    revision: Revision,
    transport: Transport,
    why: String,
    child: Option<ChildProcess>,
    direct: Option<DirectCalls>,
    /// For calls, if the server declares that they need it.
    sandbox: Option<SandboxState>,
    listing: Listing,
    calls: AtomicU64,
    cancellations: Cancellations,
    /// The minimum log level, sent with each request in 2026-07-28.
    log_level: RwLock<Option<&'static str>>,
    closed: AtomicBool,
    subscription: Mutex<Option<AbortHandle>>,
    /// Resource subscriptions in 2026-07-28.
    watched: Mutex<HashMap<String, JoinHandle<()>>>,
    /// The resources with a subscription, in every revision and also after the end of the connection.
    subscribed: Mutex<BTreeSet<String>>,
}

/// The result of closing a connection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CloseReport {
    /// Whether the transport closed in time.
    pub transport_closed: bool,
    /// The exit of the server's process, over stdio.
    pub process: Option<Closing>,
    /// Duration of closing.
    pub took: Duration,
}

impl Connection {
    pub(crate) fn new(parts: Parts) -> Self {
        let Parts { config, tracker, dispatcher, service, revision, transport, why, child, direct, sandbox } = parts;
        let peer = service.peer().clone();
        let cancellations = Cancellations::start(peer.clone(), Arc::clone(&tracker));
        tokio::spawn(report_end(Arc::clone(&tracker)));
        if let Some(link) = dispatcher.link().filter(|link| link.support().roots && rules(revision).roots_announcements)
        {
            tokio::spawn(notify_roots(peer.clone(), link.watch_roots(), tracker.closed.clone()));
        }
        tracker.reporter.report(|| ClientEventKind::Connected {
            revision,
            era: revision.era(),
            transport,
            why: why.clone(),
        });
        let sandbox_of_calls = sandbox.clone().filter(|_| sandbox::is_asked_for(&tracker, META));
        let inner = Inner {
            listing: Listing::default(),
            calls: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            subscription: Mutex::new(None),
            service: tokio::sync::Mutex::new(service),
            config,
            tracker,
            dispatcher,
            peer,
            revision,
            transport,
            why,
            child,
            direct,
            sandbox: sandbox_of_calls,
            cancellations,
            log_level: RwLock::default(),
            watched: Mutex::default(),
            subscribed: Mutex::default(),
        };
        let connection = Self { inner: Arc::new(inner) };
        connection.subscribe_to_changes();
        connection.tell_of_sandbox(sandbox);
        connection
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.config.name
    }

    /// The negotiated revision.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.inner.revision
    }

    pub(crate) fn rules(&self) -> Rules {
        rules(self.inner.revision)
    }

    /// The era of the revision.
    #[must_use]
    pub fn era(&self) -> Era {
        self.inner.revision.era()
    }

    /// The selected transport.
    #[must_use]
    pub fn transport(&self) -> Transport {
        self.inner.transport
    }

    /// Information that speeds up the next connection to this server.
    #[must_use]
    pub fn remembered(&self) -> Remembered {
        Remembered { transport: self.transport(), era: self.era() }
    }

    /// The reason for this era and this transport.
    #[must_use]
    pub fn why(&self) -> &str {
        &self.inner.why
    }

    /// The result of `initialize` or `server/discover`, as received.
    #[must_use]
    pub fn greeting(&self) -> Option<Value> {
        self.inner.tracker.greeting().map(Arc::unwrap_or_clone)
    }

    /// The last lines of standard error.
    #[must_use]
    pub fn stderr(&self) -> Vec<String> {
        self.inner.child.as_ref().map(ChildProcess::stderr).unwrap_or_default()
    }

    /// The process id of the server's supervisor, or of the server without one; `None` over HTTP, and after its exit.
    #[must_use]
    pub fn process_id(&self) -> Option<i32> {
        self.inner.child.as_ref().and_then(ChildProcess::pid)
    }

    /// Receives all events from now on. Use [`crate::connect_with`] to receive earlier events too.
    #[must_use]
    pub fn events(&self) -> broadcast::Receiver<ClientEvent> {
        self.inner.tracker.reporter.sink().subscribe()
    }

    /// Whether the connection has ended.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.inner.closed.load(Ordering::Acquire) || self.inner.peer.is_transport_closed()
    }

    /// Waits until the connection ends, and returns the reason.
    pub async fn ended(&self) -> String {
        self.inner.tracker.closed.cancelled().await;
        self.inner.tracker.failure().map_or_else(|| "closed by the client".to_owned(), ToString::to_string)
    }

    /// Counts announcements of changed tools.
    pub(crate) fn tool_changes(&self) -> watch::Receiver<u64> {
        self.inner.tracker.watch_tool_changes()
    }

    /// Number of pending requests, including the subscription to changes of 2026-07-28, and of queued messages.
    #[must_use]
    pub fn requests_under_way(&self) -> usize {
        self.inner.tracker.entries()
    }

    /// Whether both are clones of one connection.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Closes the connection: over stdio, closes the server's standard input and stops its process; over HTTP, ends
    /// the session. Pending calls fail with [`CallError::ConnectionLost`]. Closing twice is allowed.
    pub async fn close(&self) -> CloseReport {
        let begun = Instant::now();
        self.inner.closed.store(true, Ordering::Release);
        self.stop_subscription();
        let was_over = self.inner.child.as_ref().is_some_and(|child| child.ended().is_some());
        self.flush_cancellations().await;
        let closed = self.inner.service.lock().await.close_with_timeout(CLOSE_LIMIT).await;
        let transport_closed = matches!(closed, Ok(Some(_)));
        let process = match &self.inner.child {
            Some(child) => Some(child.shut_down(was_over).await),
            None => None,
        };
        self.inner.tracker.closed.cancel();
        CloseReport { transport_closed, process, took: begun.elapsed() }
    }

    pub(crate) fn timeouts(&self) -> &Timeouts {
        &self.inner.config.timeouts
    }

    pub(crate) fn report(&self, kind: impl FnOnce() -> ClientEventKind) {
        self.inner.tracker.reporter.report(kind);
    }

    pub(crate) fn next_call(&self) -> CallId {
        CallId(self.inner.calls.fetch_add(1, Ordering::Relaxed))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.tracker.closed.cancel();
        self.stop_listening();
    }
}

/// Notifies the server of changed roots (2025-11-25, roots, "Root List Changes").
async fn notify_roots(peer: Peer<RoleClient>, mut roots: watch::Receiver<Vec<Root>>, closed: CancellationToken) {
    let notify = async {
        while roots.changed().await.is_ok() {
            // A server that rejects one notification still gets the next one.
            if let Err(error) = peer.send_notification(RootsListChangedNotification::default().into()).await {
                tracing::debug!(%error, "failed to notify the server of changed roots");
            }
        }
    };
    closed.run_until_cancelled(notify).await;
}

async fn report_end(tracker: Arc<RequestTracker>) {
    tracker.closed.cancelled().await;
    let reason = tracker.failure().map_or_else(|| "closed by the client".to_owned(), ToString::to_string);
    tracker.reporter.report_of_lists(ClientEventKind::Disconnected { reason });
}
