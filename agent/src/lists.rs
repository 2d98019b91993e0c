//! Resource and prompt lists of several servers. They are fetched on demand and cached until a `list_changed` notification.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use client::{
    CallError, ClientEvent, ClientEventKind, Connection, ListErrorKind, Manager, Status, manager::ServerError,
};
use serde_json::Value;
use tokio::sync::{
    OnceCell,
    broadcast::{self, error::TryRecvError},
};

/// Timeout for the list of one server when several are requested together.
const LIST_TIMEOUT: Duration = Duration::from_secs(10);

/// A failed request to one of several servers.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The server is not available.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The list could not be fetched completely.
    #[error(transparent)]
    List(#[from] ListErrorKind),
    /// The request failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The list did not arrive in time while several servers were requested together. The request continues.
    #[error("server `{server}` has not returned its list within {} s", LIST_TIMEOUT.as_secs())]
    Timeout {
        /// The server.
        server: String,
    },
}

impl RequestError {
    /// A stable name of the kind of failure.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Server(error) => error.kind(),
            Self::List(error) => error.kind(),
            Self::Call(error) => error.kind(),
            Self::Timeout { .. } => "timed-out",
        }
    }
}

/// Kind of list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// From `resources/list`.
    Resources,
    /// From `resources/templates/list`.
    Templates,
    /// From `prompts/list`.
    Prompts,
}

impl Kind {
    /// The server capability for this list (2025-11-25, lifecycle, "Capability Negotiation").
    fn capability(self) -> &'static str {
        match self {
            Self::Resources | Self::Templates => "resources",
            Self::Prompts => "prompts",
        }
    }
}

/// One list as the server returned it.
pub(crate) type List = Arc<Vec<Value>>;

/// The lists of a manager's servers.
#[derive(Debug)]
pub(crate) struct Lists {
    manager: Manager,
    cache: Mutex<Cache>,
}

#[derive(Debug)]
struct Cache {
    events: broadcast::Receiver<ClientEvent>,
    /// Concurrent callers share one request.
    lists: HashMap<(String, Kind), Arc<OnceCell<List>>>,
}

impl Lists {
    /// Lists of this manager's servers.
    pub(crate) fn new(manager: Manager) -> Self {
        let cache = Cache { events: manager.list_events(), lists: HashMap::new() };
        Self { manager, cache: Mutex::new(cache) }
    }

    /// Names of the enabled servers.
    pub(crate) fn servers(&self) -> Vec<String> {
        let usable = |status: &Status| !matches!(status, Status::Disabled);
        self.manager.statuses().into_iter().filter(|(_, status)| usable(status)).map(|(name, _)| name).collect()
    }

    /// Fetches a list and starts the server if necessary. The list is empty if the server does not declare the capability.
    pub(crate) async fn get(&self, server: &str, kind: Kind) -> Result<List, RequestError> {
        let cell = Arc::clone(self.current().lists.entry((server.to_owned(), kind)).or_default());
        cell.get_or_try_init(|| self.read(server, kind)).await.cloned()
    }

    /// Like [`Self::get`], with a timeout.
    pub(crate) async fn get_with_timeout(&self, server: &str, kind: Kind) -> Result<List, RequestError> {
        let timeout = |_| RequestError::Timeout { server: server.to_owned() };
        tokio::time::timeout(LIST_TIMEOUT, self.get(server, kind)).await.map_err(timeout)?
    }

    async fn read(&self, server: &str, kind: Kind) -> Result<List, RequestError> {
        let connection = self.connection(server).await?;
        let capability =
            connection.greeting().and_then(|greeting| greeting.get("capabilities")?.get(kind.capability()).cloned());
        if capability.is_none() {
            return Ok(List::default());
        }
        let read = match kind {
            Kind::Resources => connection.list_resources().await,
            Kind::Templates => connection.list_resource_templates().await,
            Kind::Prompts => connection.list_prompts().await,
        };
        match read {
            Ok(list) => Ok(Arc::new(list)),
            // Many servers have resources, and no templates: they reject the method.
            Err(error) if kind == Kind::Templates && error.kind() == "rpc-error" => Ok(List::default()),
            Err(error) => Err(error.into()),
        }
    }

    /// Connects to a server and starts it if necessary.
    pub(crate) async fn connection(&self, server: &str) -> Result<Connection, ServerError> {
        self.manager.connection(server).await
    }

    /// The cache without lists that have changed since the last call.
    fn current(&self) -> MutexGuard<'_, Cache> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match cache.events.try_recv() {
                Ok(event) => cache.invalidate(&event),
                // The skipped events may concern any list.
                Err(TryRecvError::Lagged(_)) => cache.lists.clear(),
                Err(TryRecvError::Empty | TryRecvError::Closed) => return cache,
            }
        }
    }
}

impl Cache {
    fn invalidate(&mut self, event: &ClientEvent) {
        let changed: &[Kind] = match &event.kind {
            ClientEventKind::ResourcesChanged => &[Kind::Resources, Kind::Templates],
            ClientEventKind::PromptsChanged => &[Kind::Prompts],
            ClientEventKind::Disconnected { .. } => &[Kind::Resources, Kind::Templates, Kind::Prompts],
            _ => return,
        };
        self.lists.retain(|(server, kind), _| *server != event.server || !changed.contains(kind));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use client::{
        ConnectError, ConnectOptions, Endpoint, ManagedServer, ManagerOptions, ServerConfig, StdioEndpoint,
        manager::Connector,
    };
    use futures::future::BoxFuture;
    use tokio::time::Instant;

    use super::*;

    /// Never connects.
    #[derive(Debug)]
    struct Hangs;

    impl Connector for Hangs {
        fn connect(&self, _: ServerConfig, _: ConnectOptions) -> BoxFuture<'static, Result<Connection, ConnectError>> {
            Box::pin(std::future::pending())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_does_not_respond_delays_a_list_only_until_the_timeout() {
        let manager = Manager::new(ManagerOptions { connector: Arc::new(Hangs), ..ManagerOptions::default() });
        let server = ServerConfig::new("hangs", Endpoint::Stdio(StdioEndpoint::default()));
        assert!(manager.apply(vec![ManagedServer::new(server)]).await.is_ok());
        let lists = Lists::new(manager);
        let begun = Instant::now();
        let late = lists.get_with_timeout("hangs", Kind::Resources).await;
        assert_eq!((late.err().map(|error| error.kind()), begun.elapsed()), (Some("timed-out"), LIST_TIMEOUT));
    }
}
