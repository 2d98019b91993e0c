//! Many servers at once: each is started once for all who want it, fails for itself, and is brought back within bounds.
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
//! A [`Manager`] owns who is started when, and what is known about each server's state. How a connection comes about, and
//! what can be done with it, is the business of [`crate::connect`] and [`Connection`]. It reads no configuration files.

mod asking;
mod backoff;
mod connector;
mod error;
mod reload;
mod server;
mod spec;
mod start;
mod status;
mod using;
mod watching;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::future::join_all;
use tokio::sync::broadcast;
use tokio_util::sync::{CancellationToken, DropGuard};

pub use backoff::Backoff;
pub use connector::{Connector, Direct};
pub use error::{DuplicateName, RequiredError, ServerError, StartError, UseError};
pub use reload::Reloaded;
pub use spec::{ManagedServer, StartMode, ToolFilter};
pub use status::Status;

use crate::{catalogue::cache::ToolCache, connection::Connection, event::ClientEvent, options::ConnectOptions};
use server::Server;

/// How long announcements of changes are gathered before a list is read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Debounce {
    /// Without another announcement.
    pub quiet: Duration,
    /// However many announcements follow.
    pub at_most: Duration,
}

impl Default for Debounce {
    fn default() -> Self {
        Self { quiet: Duration::from_millis(250), at_most: Duration::from_secs(2) }
    }
}

/// How a manager goes about its work.
#[derive(Debug, Clone)]
pub struct ManagerOptions {
    /// What each connection is given. All events go to its sink, those of the manager among them.
    pub connect: ConnectOptions,
    /// How connections are made.
    pub connector: Arc<dyn Connector>,
    /// How servers that fail are tried again.
    pub backoff: Backoff,
    /// How announcements of changes are gathered.
    pub debounce: Debounce,
}

impl Default for ManagerOptions {
    fn default() -> Self {
        Self {
            connect: ConnectOptions::default(),
            connector: Arc::new(Direct),
            backoff: Backoff::default(),
            debounce: Debounce::default(),
        }
    }
}

/// What the servers of a manager have in common.
#[derive(Debug)]
struct Shared {
    options: ManagerOptions,
    cache: ToolCache,
    over: CancellationToken,
}

/// Looks after several servers. Clones share them; when the last one is dropped, all are ended without waiting.
#[derive(Debug, Clone)]
pub struct Manager {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    shared: Arc<Shared>,
    servers: Mutex<BTreeMap<String, Arc<Server>>>,
    /// One configuration at a time is put into effect.
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
        let over = CancellationToken::new();
        let guard = over.clone().drop_guard();
        let shared = Arc::new(Shared { options, cache: ToolCache::default(), over });
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

    /// Puts a configuration into effect: the first one, or another one later. Servers that are configured as before are not
    /// touched; all that are to start at once are started in parallel, and only the required ones are waited for.
    ///
    /// # Errors
    /// If two servers have one name, before anything is touched; if a required server cannot be started, when all else is
    /// done.
    pub async fn apply(&self, wanted: Vec<ManagedServer>) -> Result<Reloaded, StartError> {
        let _turn = self.inner.applying.lock().await;
        let present = self.servers().iter().map(|(name, server)| (name.clone(), server.spec())).collect();
        let reloaded = Reloaded::between(&present, &wanted)?;
        let leaving: Vec<_> = {
            let mut servers = self.servers();
            reloaded.removed.iter().chain(&reloaded.changed).filter_map(|name| servers.remove(name)).collect()
        };
        // A changed server is gone before its successor starts: two of them could fight over a file or a port.
        join_all(leaving.iter().map(|server| server.retire())).await;
        let starting = self.take_over(wanted);
        let required = starting.into_iter().filter(|server| server.spec().required && server.spec().enabled);
        let outcomes = join_all(required.map(|server| async move { server.demand(false).await })).await;
        let failures: Vec<_> = outcomes.into_iter().filter_map(Result::err).collect();
        if failures.is_empty() { Ok(reloaded) } else { Err(RequiredError { failures }.into()) }
    }

    /// Enters all, and starts those that are to start at once and have never been. What comes back are all of them.
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
                        server.kick();
                    }
                    server
                }
            };
            all.push(server);
        }
        all
    }

    /// How each server is doing.
    #[must_use]
    pub fn statuses(&self) -> BTreeMap<String, Status> {
        self.servers().iter().map(|(name, server)| (name.clone(), server.status())).collect()
    }

    /// How a server is doing; `None` if there is no such server.
    #[must_use]
    pub fn status(&self, name: &str) -> Option<Status> {
        self.servers().get(name).map(|server| server.status())
    }

    /// Everything that happens from now on, at all servers.
    #[must_use]
    pub fn events(&self) -> broadcast::Receiver<ClientEvent> {
        self.inner.shared.options.connect.events.subscribe()
    }

    /// The connection to a server, which is started if it is not up. Callers at the same time share one start.
    ///
    /// # Errors
    /// A [`ServerError`].
    pub async fn connection(&self, name: &str) -> Result<Connection, ServerError> {
        self.server(name)?.demand(false).await
    }

    /// Connects a server by hand: also one that was given up, or that wants a login which has happened since.
    ///
    /// # Errors
    /// A [`ServerError`].
    pub async fn connect(&self, name: &str) -> Result<Connection, ServerError> {
        self.server(name)?.demand(true).await
    }

    /// Ends the connection to a server. It is started again when somebody wants something of it.
    ///
    /// # Errors
    /// If there is no such server.
    pub async fn disconnect(&self, name: &str) -> Result<(), ServerError> {
        let server = self.server(name)?;
        server.disconnect().await;
        Ok(())
    }

    /// Ends all connections, and waits until they are.
    pub async fn close(&self) {
        let _turn = self.inner.applying.lock().await;
        let servers = std::mem::take(&mut *self.servers());
        join_all(servers.values().map(|server| server.retire())).await;
    }
}
