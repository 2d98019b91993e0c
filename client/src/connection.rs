//! A connection to one server.

mod cancellation;
mod features;
mod handler;
mod listing;
mod request;
mod rounds;
mod sandbox;
mod subscription;
mod tasks;
mod visits;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use rmcp::{
    RoleClient,
    model::RootsListChangedNotification,
    service::{Peer, RunningService},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::{
    sync::{broadcast, watch},
    task::AbortHandle,
};
use tokio_util::sync::CancellationToken;

pub use features::LOG_LEVELS;
pub(crate) use handler::Handler;
pub(crate) use request::{Exchange, LOG_LEVEL, Patience};

use crate::{
    config::{ServerConfig, Timeouts},
    direct::Direct,
    event::{CallId, ClientEvent, Happening, TransportKind},
    host::{Desk, Root},
    ledger::Ledger,
    lifecycle::Remembered,
    process::{ChildProcess, Closing},
    revision::{Era, Revision},
    sandbox::SandboxState,
};
use cancellation::Cancellations;
use listing::Listing;

/// How long the transport may take to close: an HTTP session is ended with a DELETE.
const CLOSE_LIMIT: Duration = Duration::from_secs(8);

/// A connection to one server. Clones share it; when the last one is dropped it is closed, without waiting.
#[derive(Debug, Clone)]
pub struct Connection {
    inner: Arc<Inner>,
}

/// What a connection is made of.
pub(crate) struct Parts {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) desk: Arc<Desk>,
    pub(crate) service: RunningService<RoleClient, Handler>,
    pub(crate) revision: Revision,
    pub(crate) transport: TransportKind,
    pub(crate) why: String,
    pub(crate) child: Option<ChildProcess>,
    /// The way of calls past rmcp, where there is one.
    pub(crate) direct: Option<Direct>,
    pub(crate) sandbox: Option<SandboxState>,
}

#[derive(Debug)]
struct Inner {
    config: Arc<ServerConfig>,
    ledger: Arc<Ledger>,
    desk: Arc<Desk>,
    peer: Peer<RoleClient>,
    service: tokio::sync::Mutex<RunningService<RoleClient, Handler>>,
    revision: Revision,
    transport: TransportKind,
    why: String,
    child: Option<ChildProcess>,
    direct: Option<Direct>,
    sandbox: Option<SandboxState>,
    listing: Listing,
    calls: AtomicU64,
    cancellations: Cancellations,
    /// From which severity on the server is to log, said with each request on 2026-07-28.
    log_level: RwLock<Option<&'static str>>,
    closed: AtomicBool,
    subscription: Mutex<Option<AbortHandle>>,
    /// The subscriptions to resources, on 2026-07-28.
    watched: Mutex<HashMap<String, AbortHandle>>,
}

/// How a connection was closed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CloseReport {
    /// Whether the transport closed in time.
    pub transport_closed: bool,
    /// How the server's process was ended, over stdio.
    pub process: Option<Closing>,
    /// How long it took.
    pub took: Duration,
}

impl Connection {
    pub(crate) fn new(parts: Parts) -> Self {
        let Parts { config, ledger, desk, service, revision, transport, why, child, direct, sandbox } = parts;
        let peer = service.peer().clone();
        let cancellations = Cancellations::start(peer.clone(), Arc::clone(&ledger));
        tokio::spawn(report_end(Arc::clone(&ledger)));
        if let Some(link) = desk.link().filter(|link| link.support().roots && revision.era() == Era::Legacy) {
            tokio::spawn(tell_of_roots(peer.clone(), link.watch_roots(), ledger.over.clone()));
        }
        ledger.reporter.report(|| Happening::Connected { revision, era: revision.era(), transport, why: why.clone() });
        let inner = Inner {
            listing: Listing::default(),
            calls: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            subscription: Mutex::new(None),
            service: tokio::sync::Mutex::new(service),
            config,
            ledger,
            desk,
            peer,
            revision,
            transport,
            why,
            child,
            direct,
            sandbox,
            cancellations,
            log_level: RwLock::default(),
            watched: Mutex::default(),
        };
        let connection = Self { inner: Arc::new(inner) };
        connection.subscribe_to_changes();
        connection.tell_of_sandbox();
        connection
    }

    /// The name of the server.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.config.name
    }

    /// The revision that both speak.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.inner.revision
    }

    /// Its era.
    #[must_use]
    pub fn era(&self) -> Era {
        self.inner.revision.era()
    }

    /// The transport that was chosen.
    #[must_use]
    pub fn transport(&self) -> TransportKind {
        self.inner.transport
    }

    /// What to remember of it for the next connection to this server.
    #[must_use]
    pub fn remembered(&self) -> Remembered {
        Remembered { transport: self.transport(), era: self.era() }
    }

    /// Why this era and this transport, in words.
    #[must_use]
    pub fn why(&self) -> &str {
        &self.inner.why
    }

    /// What the server said about itself, word for word: the result of `initialize` or of `server/discover`.
    #[must_use]
    pub fn greeting(&self) -> Option<Value> {
        self.inner.ledger.greeting()
    }

    /// The last lines that the server wrote to standard error.
    #[must_use]
    pub fn stderr(&self) -> Vec<String> {
        self.inner.child.as_ref().map(ChildProcess::stderr).unwrap_or_default()
    }

    /// Everything that happens from now on. Use [`crate::connect_with`] to hear of the beginning as well.
    #[must_use]
    pub fn events(&self) -> broadcast::Receiver<ClientEvent> {
        self.inner.ledger.reporter.sink().subscribe()
    }

    /// Whether the connection is over, for whatever reason.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.inner.closed.load(Ordering::Acquire) || self.inner.peer.is_transport_closed()
    }

    /// Returns when the connection is over, with the reason in words.
    pub async fn ended(&self) -> String {
        self.inner.ledger.over.cancelled().await;
        self.inner.ledger.failure().map_or_else(|| "closed by the client".to_owned(), ToString::to_string)
    }

    /// Counts the announcements of changed tools, and tells of each from now on.
    pub(crate) fn tool_changes(&self) -> watch::Receiver<u64> {
        self.inner.ledger.watch_tool_changes()
    }

    /// How many requests wait for their answer, the subscription to changes of 2026-07-28 among them, and answers and
    /// questions for somebody to take them.
    #[must_use]
    pub fn requests_under_way(&self) -> usize {
        self.inner.ledger.entries()
    }

    /// Closes the connection: over stdio the server's standard input is closed and its process ended, over HTTP the
    /// session is. Calls under way fail as lost. Closing twice is no error.
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
        self.inner.ledger.over.cancel();
        CloseReport { transport_closed, process, took: begun.elapsed() }
    }

    pub(crate) fn timeouts(&self) -> &Timeouts {
        &self.inner.config.timeouts
    }

    pub(crate) fn report(&self, what: impl FnOnce() -> Happening) {
        self.inner.ledger.reporter.report(what);
    }

    pub(crate) fn next_call(&self) -> CallId {
        CallId(self.inner.calls.fetch_add(1, Ordering::Relaxed))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.ledger.over.cancel();
        self.stop_listening();
    }
}

/// Tells the server whenever the roots have changed (2025-11-25, roots, "Root List Changes").
async fn tell_of_roots(peer: Peer<RoleClient>, mut roots: watch::Receiver<Vec<Root>>, over: CancellationToken) {
    loop {
        tokio::select! {
            () = over.cancelled() => return,
            changed = roots.changed() => if changed.is_err() { return },
        }
        // A server that refuses to be told once is told again the next time.
        if let Err(error) = peer.send_notification(RootsListChangedNotification::default().into()).await {
            tracing::debug!(%error, "the server was not told of the roots");
        }
    }
}

async fn report_end(ledger: Arc<Ledger>) {
    ledger.over.cancelled().await;
    let reason = ledger.failure().map_or_else(|| "closed by the client".to_owned(), ToString::to_string);
    ledger.reporter.report(|| Happening::Disconnected { reason });
}
