//! The state of the driver between two steps: connections, started calls, and tool lists.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use client::{
    CallError, ConnectOptions, Connection, Era, EventSink, HostLink, NameLimit, Remembered, RevisionChoice,
    ServerConfig, ShutdownGracePeriods, ToolCatalog, ToolList, ToolResult, Transport, connect_with,
};
use futures::future::join_all;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{
    DriveError, authorization,
    listener::Listener,
    outcome::{connect_error, step_error},
    report::Report,
    user,
};
use crate::{
    contract::{Context, ContractEndpoint, now_us},
    evidence::Outcome,
    model,
};

/// A started call.
#[derive(Debug)]
pub(super) struct OpenCall {
    pub(super) end: JoinHandle<Result<ToolResult, CallError>>,
    pub(super) cancel: CancellationToken,
}

/// The state of the driver.
#[derive(Debug)]
pub(super) struct Session<'a> {
    pub(super) context: &'a Context,
    pub(super) report: Report,
    pub(super) listener: Listener,
    options: ConnectOptions,
    /// Responds to requests of servers; `None` without a user.
    pub(super) user: Option<HostLink>,
    pub(super) connections: BTreeMap<String, Connection>,
    /// How each remote server was reached before, as a manager remembers it.
    remembered: HashMap<String, Remembered>,
    pub(super) calls: HashMap<String, OpenCall>,
    /// The tools of each server that the last `list` step returned to the caller.
    pub(super) seen: HashMap<String, Arc<ToolList>>,
    /// The tools of each server that the client last read, also before a reconnect.
    pub(super) latest: HashMap<String, Arc<ToolList>>,
    pub(super) catalog: ToolCatalog,
    pub(super) name_limit: NameLimit,
}

impl<'a> Session<'a> {
    /// Creates a session without connections.
    pub(super) fn open(context: &'a Context) -> Result<Self, DriveError> {
        let report = Report::open(&context.report)?;
        let sink = EventSink::default();
        let name_limit = name_limit(context);
        let user = user::link(&context.client);
        Ok(Self {
            listener: Listener::attach(sink.subscribe(), report.clone(), Some),
            catalog: ToolCatalog::new(name_limit),
            name_limit,
            connections: BTreeMap::new(),
            remembered: HashMap::new(),
            calls: HashMap::new(),
            seen: HashMap::new(),
            latest: HashMap::new(),
            context,
            report,
            options: ConnectOptions { events: sink, host: user.clone(), ..ConnectOptions::default() },
            user,
        })
    }

    /// Connects to all servers of a case without `connect` steps.
    pub(super) async fn connect_implicitly(&mut self) -> Result<(), DriveError> {
        let began = now_us();
        for (name, outcome) in self.attempt_all(None).await {
            self.report.outcome(None, Some(&name), began, outcome)?;
        }
        Ok(())
    }

    /// Connects to all servers, with one outcome.
    pub(super) async fn connect_all(&mut self, timeout: Option<Duration>) -> Outcome {
        let (mut connected, mut failed) = (Vec::new(), Vec::new());
        for (name, outcome) in self.attempt_all(timeout).await {
            match outcome {
                Outcome::Value(value) => connected.push(value),
                Outcome::Error(error) => {
                    failed.push(json!({ "server": name, "kind": error.kind, "message": error.message }));
                }
                Outcome::Skipped(_) => {}
            }
        }
        Outcome::Value(json!({ "connected": connected, "failed": failed }))
    }

    // Concurrently: a server that does not respond must not delay the others.
    async fn attempt_all(&mut self, timeout: Option<Duration>) -> Vec<(String, Outcome)> {
        let names = self.context.servers.keys();
        let attempts = names.map(|name| async { (name.clone(), self.attempt(name, timeout).await) });
        let ended = join_all(attempts).await;
        ended.into_iter().map(|(name, attempt)| (name.clone(), self.keep(&name, attempt))).collect()
    }

    /// Connects to one server.
    pub(super) async fn connect(&mut self, name: &str, timeout: Option<Duration>) -> Outcome {
        let attempt = self.attempt(name, timeout).await;
        self.keep(name, attempt)
    }

    /// Starts a server without a handshake again whose process exited, as a manager does on demand (2026-07-28,
    /// basic/transports/stdio#unexpected-termination).
    pub(super) async fn restart(&mut self, server: Option<&str>) {
        let Some(name) = self.server_name(server) else { return };
        let has_exited = |connection: &Connection| {
            connection.is_closed() && connection.era() == Era::Modern && connection.transport() == Transport::Stdio
        };
        if self.connections.get(&name).is_some_and(has_exited)
            && let Some(connection) = self.connections.remove(&name)
        {
            connection.close().await;
            // The call reports a failed start.
            let _ = self.connect(&name, None).await;
            if let Some(restarted) = self.connections.get(&name) {
                restarted.subscribe_again(connection.subscribed_resources()).await;
            }
        }
    }

    async fn attempt(&self, name: &str, timeout: Option<Duration>) -> Result<Connection, Outcome> {
        let Some(endpoint) = self.context.servers.get(name) else {
            return Err(step_error("invalid-config", format!("the context has no server `{name}`")));
        };
        let config = server_config(self.context, name, endpoint, timeout);
        let authorizer = authorization::authorizer(self.context, endpoint)
            .map_err(|error| step_error("invalid-config", error.to_string()))?;
        let remembered = self.remembered.get(name).copied();
        connect_with(config, ConnectOptions { authorizer, remembered, ..self.options.clone() })
            .await
            .map_err(|error| Outcome::Error(connect_error(&error)))
    }

    fn keep(&mut self, name: &str, attempt: Result<Connection, Outcome>) -> Outcome {
        match attempt {
            Err(outcome) => outcome,
            Ok(connection) => {
                let value = described(&connection);
                if connection.transport() != Transport::Stdio {
                    self.remembered.insert(name.to_owned(), connection.remembered());
                }
                self.connections.insert(name.to_owned(), connection);
                Outcome::Value(value)
            }
        }
    }

    /// Disconnects from one server, or from all at the same time.
    pub(super) async fn disconnect(&mut self, server: Option<&str>) -> Outcome {
        let names: Vec<String> = match server {
            Some(name) if self.connections.contains_key(name) => vec![name.to_owned()],
            Some(name) => return step_error("connection-lost", format!("not connected to `{name}`")),
            None => self.connections.keys().cloned().collect(),
        };
        let closing: Vec<Connection> = names.iter().filter_map(|name| self.connections.remove(name)).collect();
        let ended = join_all(closing.iter().map(|connection| async {
            let report = connection.close().await;
            json!({
                "server": connection.name(),
                "transport_closed": report.transport_closed,
                "process": report.process,
                "elapsed_ms": u64::try_from(report.took.as_millis()).unwrap_or(u64::MAX),
            })
        }));
        Outcome::Value(json!({ "ended": ended.await }))
    }

    /// Cancels open calls, then closes all connections.
    pub(super) async fn disconnect_rest(&mut self) -> Result<(), DriveError> {
        for call in self.calls.values() {
            call.cancel.cancel();
        }
        for (_, call) in self.calls.drain() {
            // The result of a cancelled call is not needed.
            let _ = call.end.await;
        }
        if self.connections.is_empty() {
            return Ok(());
        }
        let began = now_us();
        let outcome = self.disconnect(None).await;
        self.report.outcome(None, None, began, outcome)
    }

    /// The connection of a step: the named one, or the only one.
    pub(super) fn connection(&self, server: Option<&str>) -> Result<&Connection, Outcome> {
        let found = match server {
            Some(name) => self.connections.get(name),
            None if self.context.servers.len() == 1 => self.connections.values().next(),
            None => return Err(step_error("invalid-config", "the step must name a server")),
        };
        found.ok_or_else(|| step_error("connection-lost", "not connected to the server"))
    }

    /// The server of a step: the named one, or the only one.
    pub(super) fn server_name(&self, server: Option<&str>) -> Option<String> {
        server_name(self.context, server).map(str::to_owned)
    }
}

/// The server of a step: the named one, or the only one of the case.
pub(super) fn server_name<'a>(context: &'a Context, server: Option<&'a str>) -> Option<&'a str> {
    let only = || context.servers.keys().next().filter(|_| context.servers.len() == 1);
    server.or_else(|| only().map(String::as_str))
}

/// The maximum length of names for the model.
pub(super) fn name_limit(context: &Context) -> NameLimit {
    if context.client.name_limit == Some(128) { NameLimit::Chars128 } else { NameLimit::Chars64 }
}

/// The configuration of a server of a case.
pub(super) fn server_config(
    context: &Context,
    name: &str,
    endpoint: &ContractEndpoint,
    timeout: Option<Duration>,
) -> ServerConfig {
    let setup = &context.client;
    let mut config = ServerConfig::new(name, endpoint.for_client(&context.client));
    config.protocol = match setup.revision {
        Some(model::RevisionChoice::Auto) => RevisionChoice::Auto,
        // Both enumerations have the same revisions; a missing one would be negotiated.
        Some(model::RevisionChoice::Pinned) | None => {
            context.revision.as_str().parse().map_or(RevisionChoice::Auto, RevisionChoice::Pinned)
        }
    };
    let timeouts = &mut config.timeouts;
    timeouts.startup = timeout.or(setup.startup_timeout.map(|period| period.0)).unwrap_or(timeouts.startup);
    if let Some(limit) = setup.call_timeout {
        (timeouts.call, timeouts.request) = (limit.0, limit.0);
    }
    timeouts.call_ceiling = setup.call_ceiling.map_or(timeouts.call_ceiling, |period| period.0);
    config.limits.pages = setup.max_pages.unwrap_or(config.limits.pages);
    config.limits.message_bytes = setup.max_message.unwrap_or(config.limits.message_bytes);
    config.limits.items = setup.max_items.unwrap_or(config.limits.items);
    let ShutdownGracePeriods { stdin_close, sigterm } = config.shutdown;
    config.shutdown = ShutdownGracePeriods {
        stdin_close: setup.close_grace.map_or(stdin_close, |period| period.0),
        sigterm: setup.term_grace.map_or(sigterm, |period| period.0),
    };
    config
}

/// The value of a `connect` step.
pub(super) fn described(connection: &Connection) -> Value {
    let greeting = connection.greeting().unwrap_or_default();
    // 2026-07-28 moved the server's identity into `_meta` (server/discover, data types).
    let info = greeting.get("serverInfo").or_else(|| greeting.pointer("/_meta/io.modelcontextprotocol~1serverInfo"));
    json!({
        "server": connection.name(),
        "revision": connection.revision().as_str(),
        "transport": connection.transport(),
        "why": connection.why(),
        "server_info": info,
        "capabilities": greeting.get("capabilities"),
        "instructions": greeting.get("instructions"),
    })
}
