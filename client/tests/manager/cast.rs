//! Servers in memory for the manager.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use futures::future::BoxFuture;
use mcp_workbench_client::{
    ClientEvent, ClientEventKind, ConnectError, ConnectOptions, Connection, Endpoint, HttpEndpoint, Remembered,
    ServerConfig, StdioEndpoint,
    manager::{Connector, ManagedServer, Manager, ManagerOptions, StartMode},
};
use serde_json::{Value, json};
use tokio::{sync::broadcast, time::Instant};

use crate::support::{Answer, CLOSE, Transcript, config, connect_to, legacy, result};

/// The behavior of a server at its n-th start, counted from 1.
type Play = Arc<dyn Fn(usize) -> Answer + Send + Sync>;

#[derive(Default)]
struct Books {
    plays: HashMap<String, Play>,
    starts: Vec<(String, Instant)>,
    remembered: Vec<Option<Remembered>>,
    transcripts: HashMap<String, Transcript>,
}

/// Servers in memory, and what they recorded.
#[derive(Clone, Default)]
pub(crate) struct Cast {
    books: Arc<Mutex<Books>>,
}

impl std::fmt::Debug for Cast {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Cast")
    }
}

impl Connector for Cast {
    fn connect(
        &self,
        config: ServerConfig,
        options: ConnectOptions,
    ) -> BoxFuture<'static, Result<Connection, ConnectError>> {
        let mut books = self.books.lock().unwrap();
        books.starts.push((config.name.clone(), Instant::now()));
        books.remembered.push(options.remembered);
        let number = books.starts.iter().filter(|(name, _)| *name == config.name).count();
        let play = Arc::clone(&books.plays[&config.name]);
        drop(books);
        let answer = play(number);
        let this = self.clone();
        Box::pin(async move {
            let name = config.name.clone();
            let (connection, transcript) = connect_to(config, options.events, answer).await;
            this.books.lock().unwrap().transcripts.insert(name, transcript);
            connection
        })
    }
}

impl Cast {
    /// Adds a server.
    pub(crate) fn with(self, name: &str, play: impl Fn(usize) -> Answer + Send + Sync + 'static) -> Self {
        self.books.lock().unwrap().plays.insert(name.to_owned(), Arc::new(play));
        self
    }

    /// A manager of these servers.
    pub(crate) fn manager(&self) -> Manager {
        Manager::new(ManagerOptions { connector: Arc::new(self.clone()), ..ManagerOptions::default() })
    }

    /// The times at which a server was started.
    pub(crate) fn starts(&self, name: &str) -> Vec<Instant> {
        let books = self.books.lock().unwrap();
        books.starts.iter().filter(|(started, _)| started == name).map(|(_, at)| *at).collect()
    }

    /// What each start was told about an earlier connection, for all servers.
    pub(crate) fn remembered(&self) -> Vec<Option<Remembered>> {
        self.books.lock().unwrap().remembered.clone()
    }

    /// The messages that the last start of a server received.
    pub(crate) fn transcript(&self, name: &str) -> Transcript {
        Arc::clone(&self.books.lock().unwrap().transcripts[name])
    }

    /// Number of messages with this method that the last start of a server received.
    pub(crate) fn asked(&self, name: &str, method: &str) -> usize {
        self.transcript(name).lock().unwrap().iter().filter(|message| message["method"] == method).count()
    }
}

/// A server with the tool `echo`. It exits on a call of `die`, never answers `stuck`, and announces twenty changes
/// before it answers `poke`.
pub(crate) fn good(_: usize) -> Answer {
    Box::new(legacy(usual))
}

/// The responses of a conforming server after the handshake.
pub(crate) fn usual(message: &Value) -> Vec<String> {
    usual_for(message, &Value::Null)
}

/// The same, with the id of the subscription to changes (2026-07-28).
pub(crate) fn usual_for(message: &Value, subscription: &Value) -> Vec<String> {
    match (message["method"].as_str(), message["params"]["name"].as_str()) {
        (Some("tools/list"), _) => {
            result(message, json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}))
        }
        (Some("tools/call"), Some("die")) => vec![CLOSE.to_owned()],
        (Some("tools/call"), Some("stuck")) => vec![],
        (Some("tools/call"), Some("poke")) => {
            let meta = json!({"io.modelcontextprotocol/subscriptionId": subscription});
            let change =
                json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {"_meta": meta}});
            let mut lines = vec![change.to_string(); 20];
            lines.extend(result(message, json!({"content": []})));
            lines
        }
        (Some("tools/call"), _) => result(message, json!({"content": [{"type": "text", "text": "done"}]})),
        _ => vec![],
    }
}

/// A server that never responds.
pub(crate) fn silent(_: usize) -> Answer {
    Box::new(|_| vec![])
}

/// A server that closes the connection after the first message.
pub(crate) fn crashing(_: usize) -> Answer {
    Box::new(|_| vec![CLOSE.to_owned()])
}

/// A stdio server of this name.
pub(crate) fn program(name: &str) -> ManagedServer {
    let command = StdioEndpoint { command: name.to_owned(), ..StdioEndpoint::default() };
    ManagedServer::new(ServerConfig { name: name.to_owned(), endpoint: Endpoint::Stdio(command), ..config() })
}

/// A remote server of this name, with this token.
pub(crate) fn remote(name: &str, url: &str, token: &str) -> ManagedServer {
    let headers = [("authorization".to_owned(), token.to_owned())].into();
    let endpoint = HttpEndpoint { url: url.to_owned(), headers, ..HttpEndpoint::default() };
    ManagedServer::new(ServerConfig::new(name, Endpoint::StreamableHttp(endpoint)))
}

/// The same, started on first use.
pub(crate) fn lazy(server: ManagedServer) -> ManagedServer {
    ManagedServer { start: StartMode::OnDemand, ..server }
}

/// Waits for the next status of a server, and returns its name.
pub(crate) async fn next_status(events: &mut broadcast::Receiver<ClientEvent>, server: &str) -> String {
    loop {
        let event = events.recv().await.unwrap();
        if let (true, ClientEventKind::Status { status }) = (event.server == server, event.kind) {
            return status.as_str().to_owned();
        }
    }
}

/// Waits until a server has this status.
pub(crate) async fn until_status(events: &mut broadcast::Receiver<ClientEvent>, server: &str, status: &str) {
    while next_status(events, server).await != status {}
}
