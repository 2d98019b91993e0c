//! Manages several servers: shares starts between callers, isolates failures, and reconnects with backoff.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use mcp_workbench_client::{
//!     CallOptions, Endpoint, ServerConfig, StdioEndpoint,
//!     manager::{ManagedServer, Manager},
//! };
//!
//! let command = StdioEndpoint { command: "my-server".into(), ..StdioEndpoint::default() };
//! let server = ManagedServer::new(ServerConfig::new("mine", Endpoint::Stdio(command)));
//! let manager = Manager::default();
//! manager.apply(vec![server]).await?;
//! let result = manager.call("mine", "echo", serde_json::json!({"text": "hello"}), CallOptions::default()).await?;
//! println!("{}", result.text());
//! manager.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! A [`Manager`] decides when servers are started and tracks their status. [`crate::connect`] opens a [`Connection`].
//! Configuration files are read elsewhere.

mod backoff;
mod calls;
mod connector;
mod error;
mod reload;
mod requests;
mod server;
mod spec;
mod status;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::future::join_all;
use tokio::sync::broadcast;
use tokio_util::sync::{CancellationToken, DropGuard};

pub use backoff::Backoff;
pub use connector::{Connector, DefaultConnector};
pub use error::{DuplicateName, RequiredError, ServerError, StartError, UseError};
pub use reload::Reloaded;
pub use spec::{ManagedServer, StartMode, ToolFilter};
pub use status::Status;

use crate::{catalog::cache::ToolCache, connection::Connection, event::ClientEvent, options::ConnectOptions};
use server::Server;

/// Delays before a list is read again after announced changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Debounce {
    /// After the last announcement.
    pub quiet: Duration,
    /// After the first announcement.
    pub at_most: Duration,
}

impl Default for Debounce {
    fn default() -> Self {
        Self { quiet: Duration::from_millis(250), at_most: Duration::from_secs(2) }
    }
}

/// Options of a manager.
#[derive(Debug, Clone)]
pub struct ManagerOptions {
    /// Options of each connection. Events of the manager go to the same channel.
    pub connect: ConnectOptions,
    /// Opens connections.
    pub connector: Arc<dyn Connector>,
    /// Delays between attempts.
    pub backoff: Backoff,
    /// Delays after announced changes.
    pub debounce: Debounce,
}

impl Default for ManagerOptions {
    fn default() -> Self {
        Self {
            connect: ConnectOptions::default(),
            connector: Arc::new(DefaultConnector),
            backoff: Backoff::default(),
            debounce: Debounce::default(),
        }
    }
}

/// State that all servers of a manager share.
#[derive(Debug)]
struct Shared {
    options: ManagerOptions,
    cache: ToolCache,
    closing: CancellationToken,
}

/// Manages several servers. Clones share them. Dropping the last one closes all connections without waiting.
#[derive(Debug, Clone)]
pub struct Manager {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    shared: Arc<Shared>,
    servers: Mutex<BTreeMap<String, Arc<Server>>>,
    /// Serializes [`Manager::apply`].
    applying: tokio::sync::Mutex<()>,
    _over: DropGuard,
}

impl Default for Manager {
    fn default() -> Self {
        Self::new(ManagerOptions::default())
    }
}

impl Manager {
    /// A manager without servers.
    #[must_use]
    pub fn new(options: ManagerOptions) -> Self {
        let closing = CancellationToken::new();
        let guard = closing.clone().drop_guard();
        let shared = Arc::new(Shared { options, cache: ToolCache::default(), closing });
        Self {
            inner: Arc::new(Inner { shared, servers: Mutex::default(), applying: Default::default(), _over: guard }),
        }
    }

    fn servers(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Server>>> {
        self.inner.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn server(&self, name: &str) -> Result<Arc<Server>, ServerError> {
        self.servers().get(name).cloned().ok_or_else(|| ServerError::Unknown { server: name.to_owned() })
    }

    /// Applies a configuration. Unchanged servers keep their connections. Other servers start in parallel if they
    /// start immediately; only required servers are awaited.
    ///
    /// # Errors
    /// If two servers have the same name, before any change; if a required server cannot be started, after everything
    /// else.
    pub async fn apply(&self, wanted: Vec<ManagedServer>) -> Result<Reloaded, StartError> {
        let _turn = self.inner.applying.lock().await;
        let present = self.servers().iter().map(|(name, server)| (name.clone(), server.spec())).collect();
        let reloaded = Reloaded::between(&present, &wanted)?;
        let leaving: Vec<_> = {
            let mut servers = self.servers();
            reloaded.removed.iter().chain(&reloaded.changed).filter_map(|name| servers.remove(name)).collect()
        };
        // A changed server is stopped before its successor starts: both could use the same file or port.
        join_all(leaving.iter().map(|server| server.remove())).await;
        let starting = self.take_over(wanted);
        let required = starting.into_iter().filter(|server| server.spec().required && server.spec().enabled);
        let outcomes = join_all(required.map(|server| async move { server.require(false).await })).await;
        let failures: Vec<_> = outcomes.into_iter().filter_map(Result::err).collect();
        if failures.is_empty() { Ok(reloaded) } else { Err(RequiredError { failures }.into()) }
    }

    /// Creates new servers, starts those that start immediately, and returns all.
    fn take_over(&self, wanted: Vec<ManagedServer>) -> Vec<Arc<Server>> {
        let mut servers = self.servers();
        let mut all = Vec::with_capacity(wanted.len());
        for spec in wanted {
            let server = match servers.get(spec.name()) {
                Some(server) => {
                    server.adopt(spec);
                    Arc::clone(server)
                }
                None => {
                    let server = Server::new(spec, Arc::clone(&self.inner.shared));
                    servers.insert(server.spec().name().to_owned(), Arc::clone(&server));
                    if server.spec().starts_at_once() {
                        server.wake();
                    }
                    server
                }
            };
            all.push(server);
        }
        all
    }

    /// The status of each server.
    #[must_use]
    pub fn statuses(&self) -> BTreeMap<String, Status> {
        self.servers().iter().map(|(name, server)| (name.clone(), server.status())).collect()
    }

    /// The status of a server; `None` if it does not exist.
    #[must_use]
    pub fn status(&self, name: &str) -> Option<Status> {
        self.servers().get(name).map(|server| server.status())
    }

    /// Receives all events of all servers from now on.
    #[must_use]
    pub fn events(&self) -> broadcast::Receiver<ClientEvent> {
        self.inner.shared.options.connect.events.subscribe()
    }

    /// Receives the events after which a list of a server may be another one ([`EventSink::subscribe_to_lists`]).
    #[must_use]
    pub fn list_events(&self) -> broadcast::Receiver<ClientEvent> {
        self.inner.shared.options.connect.events.subscribe_to_lists()
    }

    /// The connection to a server, which is started if necessary. Concurrent callers share one start.
    ///
    /// # Errors
    /// A [`ServerError`].
    pub async fn connection(&self, name: &str) -> Result<Connection, ServerError> {
        self.server(name)?.require(false).await
    }

    /// Connects a server on request of the user, even after too many failures or a missing login.
    ///
    /// # Errors
    /// A [`ServerError`].
    pub async fn connect(&self, name: &str) -> Result<Connection, ServerError> {
        self.server(name)?.require(true).await
    }

    /// Closes the connection to a server. The next use starts it again.
    ///
    /// # Errors
    /// If the server does not exist.
    pub async fn disconnect(&self, name: &str) -> Result<(), ServerError> {
        let server = self.server(name)?;
        server.disconnect().await;
        Ok(())
    }

    /// Closes all connections and waits for their end.
    pub async fn close(&self) {
        let _turn = self.inner.applying.lock().await;
        let servers = std::mem::take(&mut *self.servers());
        join_all(servers.values().map(|server| server.remove())).await;
    }
}
