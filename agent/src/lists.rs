//! Lists of many servers, read when somebody wants them and kept until their server says that they have changed.

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

/// How long a server that is asked together with others may keep them waiting.
const PATIENCE: Duration = Duration::from_secs(10);

/// Something that was asked of one of several servers did not come.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The server cannot be used.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// A list could not be read to its end.
    #[error(transparent)]
    List(#[from] ListErrorKind),
    /// The server refused, or did not answer.
    #[error(transparent)]
    Call(#[from] CallError),
    /// It was asked together with others, which it kept waiting. What has begun goes on.
    #[error("server `{server}` has not given its list within {} s", PATIENCE.as_secs())]
    Late {
        /// The server.
        server: String,
    },
}

impl AskError {
    /// A stable name of the kind of failure.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Server(error) => error.kind(),
            Self::List(error) => error.kind(),
            Self::Call(error) => error.kind(),
            Self::Late { .. } => "late",
        }
    }
}

/// Which list of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// `resources/list`
    Resources,
    /// `resources/templates/list`
    Templates,
    /// `prompts/list`
    Prompts,
}

impl Kind {
    /// The capability of a server that has such a list (2025-11-25, lifecycle, "Capability Negotiation").
    fn capability(self) -> &'static str {
        match self {
            Self::Resources | Self::Templates => "resources",
            Self::Prompts => "prompts",
        }
    }
}

/// One list, as its server gave it.
pub(crate) type List = Arc<Vec<Value>>;

/// The lists of a manager's servers.
#[derive(Debug)]
pub(crate) struct Lists {
    manager: Manager,
    kept: Mutex<Kept>,
}

#[derive(Debug)]
struct Kept {
    events: broadcast::Receiver<ClientEvent>,
    /// Whoever wants a list that is being read waits for the one who reads it.
    lists: HashMap<(String, Kind), Arc<OnceCell<List>>>,
}

impl Lists {
    /// Of these servers.
    pub(crate) fn new(manager: Manager) -> Self {
        let kept = Kept { events: manager.events(), lists: HashMap::new() };
        Self { manager, kept: Mutex::new(kept) }
    }

    /// The names of the servers that may be asked.
    pub(crate) fn servers(&self) -> Vec<String> {
        let usable = |status: &Status| !matches!(status, Status::Disabled);
        self.manager.statuses().into_iter().filter(|(_, status)| usable(status)).map(|(name, _)| name).collect()
    }

    /// A list of a server, which is started if need be. A server that does not say that it has such a list has an empty one.
    pub(crate) async fn get(&self, server: &str, kind: Kind) -> Result<List, AskError> {
        let cell = Arc::clone(self.current().lists.entry((server.to_owned(), kind)).or_default());
        cell.get_or_try_init(|| self.read(server, kind)).await.cloned()
    }

    /// The same for one server among others: they do not wait for it for ever.
    pub(crate) async fn get_in_time(&self, server: &str, kind: Kind) -> Result<List, AskError> {
        let late = |_| AskError::Late { server: server.to_owned() };
        tokio::time::timeout(PATIENCE, self.get(server, kind)).await.map_err(late)?
    }

    async fn read(&self, server: &str, kind: Kind) -> Result<List, AskError> {
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
            // Many servers have resources and no templates, and say so by not knowing the method.
            Err(fault) if kind == Kind::Templates && fault.kind() == "rpc-error" => Ok(List::default()),
            Err(fault) => Err(fault.into()),
        }
    }

    /// The connection to a server, which is started if need be.
    pub(crate) async fn connection(&self, server: &str) -> Result<Connection, ServerError> {
        self.manager.connection(server).await
    }

    /// What is kept, without what has changed since it was looked at last.
    fn current(&self) -> MutexGuard<'_, Kept> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match kept.events.try_recv() {
                Ok(event) => kept.forget(&event),
                // What was not heard may have been anything.
                Err(TryRecvError::Lagged(_)) => kept.lists.clear(),
                Err(TryRecvError::Empty | TryRecvError::Closed) => return kept,
            }
        }
    }
}

impl Kept {
    fn forget(&mut self, event: &ClientEvent) {
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

    /// No server ever answers.
    #[derive(Debug)]
    struct Hangs;

    impl Connector for Hangs {
        fn connect(&self, _: ServerConfig, _: ConnectOptions) -> BoxFuture<'static, Result<Connection, ConnectError>> {
            Box::pin(std::future::pending())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_hangs_keeps_nobody_waiting_for_long() {
        let manager = Manager::new(ManagerOptions { connector: Arc::new(Hangs), ..ManagerOptions::default() });
        let server = ServerConfig::new("hangs", Endpoint::Stdio(StdioEndpoint::default()));
        assert!(manager.apply(vec![ManagedServer::new(server)]).await.is_ok());
        let lists = Lists::new(manager);
        let begun = Instant::now();
        let late = lists.get_in_time("hangs", Kind::Resources).await;
        assert_eq!((late.err().map(|error| error.kind()), begun.elapsed()), (Some("late"), PATIENCE));
    }
}
