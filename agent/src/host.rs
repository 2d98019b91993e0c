//! The entry point of an agent: servers, tools, permissions and content, behind one small interface.
//!
//! ```no_run
//! # async fn example(config: mcp_workbench_agent::host::HostConfig) -> Result<(), Box<dyn std::error::Error>> {
//! use mcp_workbench_agent::host::{Host, HostOptions};
//!
//! let host = Host::start(config, HostOptions::default()).await?;
//! host.ready().await;
//! let definitions = host.tools().definitions();
//! // The model chooses a tool of these definitions.
//! let called = host.call("mcp__files__read", serde_json::json!({"path": "a"}), Default::default()).await?;
//! println!("{definitions:?} {:?}", called.content);
//! host.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! [`call`] contains the sequence of a tool call. The other modules prepare what it needs: [`config`] reads the
//! configuration, `tools` gathers the tools of all servers, `requests` applies the rules for elicitation, [`expand`] resolves prompts
//! and mentions.

pub mod call;
pub mod complete;
pub mod config;
mod credentials;
pub mod event;
pub mod expand;
mod requests;
pub mod tools;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use client::{
    ConnectOptions, Connection, EventSink, HostLink, HostRequest, HostSupport, Manager, ManagerOptions, Naming, Root,
    SandboxState, Status,
    auth::store::CredentialStore,
    manager::{Connector, DefaultConnector, ServerError, StartError},
};
use serde_json::Value;
use tokio::{
    sync::{broadcast, mpsc, watch},
    task::{AbortHandle, JoinHandle},
};
use tokio_util::sync::CancellationToken;

use self::credentials::StoredCredentials;
pub use self::{
    call::{Called, HostError},
    config::{Exclusion, HostConfig, HostLogin, HostServer},
    event::{CallReport, HostEvent},
    expand::{ExpandError, Expansion},
    tools::{HostTool, Toolset, Visibility},
};
use crate::{
    config::Sandbox,
    filter::ModelCapabilities,
    instructions::{self, InstructionLimits, Instructions},
    output::{OutputLimits, OutputStore},
    permissions::{Approver, DenyAllApprover, Gate},
    prompts::Prompts,
    resources::Resources,
    schema::{self, Provider},
    search::SearchMode,
};

/// Number of events that a receiver may lag behind.
const EVENTS: usize = 4_096;
/// Number of requests to the user that may wait. Further ones are dismissed.
const REQUESTS: usize = 256;

/// Options of the program around the host: its model, and its user.
#[derive(Clone)]
pub struct HostOptions {
    /// The provider that tools are converted for; `None` for definitions as servers send them.
    pub provider: Option<Provider>,
    /// Options of the conversion.
    pub schema: schema::Options,
    /// Names of tools and prompts.
    pub naming: Naming,
    /// Content that the model supports.
    pub capabilities: ModelCapabilities,
    /// Limits of a tool result.
    pub limits: OutputLimits,
    /// Where complete results are stored when they are truncated.
    pub store: Option<OutputStore>,
    /// When tools are deferred.
    pub search: SearchMode,
    /// Size of the context of the model, in tokens.
    pub context_tokens: usize,
    /// Whether the model supports `defer_loading` and `tool_reference`.
    pub references: bool,
    /// Asks the user for approval of calls.
    pub approver: Arc<dyn Approver>,
    /// Requests of servers that the program can pass to the user or the model ([`Host::requests`]).
    pub support: HostSupport,
    /// Directories and files that the user works on.
    pub roots: Vec<Root>,
    /// The sandbox of the program, for servers that declare an interest. That of the configuration takes precedence.
    pub sandbox: Option<Sandbox>,
    /// Opens connections.
    pub connector: Arc<dyn Connector>,
    /// Credentials of earlier logins; `None` connects without them.
    pub credentials: Option<Arc<dyn CredentialStore>>,
}

impl Default for HostOptions {
    fn default() -> Self {
        Self {
            provider: None,
            schema: schema::Options::default(),
            naming: Naming::default(),
            capabilities: ModelCapabilities::default(),
            limits: OutputLimits::default(),
            store: None,
            search: SearchMode::default(),
            context_tokens: 200_000,
            references: false,
            approver: Arc::new(DenyAllApprover),
            support: HostSupport::NONE,
            roots: Vec::new(),
            sandbox: None,
            connector: Arc::new(DefaultConnector),
            credentials: None,
        }
    }
}

/// An agent's servers, tools and rules. Clones share them. Dropping the last one closes all connections without waiting.
#[derive(Clone)]
pub struct Host {
    inner: Arc<Inner>,
}

struct Inner {
    options: HostOptions,
    config: Arc<Mutex<Arc<HostConfig>>>,
    /// Connected servers get each change.
    sandbox: SandboxState,
    manager: Manager,
    link: HostLink,
    gate: Arc<Gate>,
    tools: Mutex<tools::ToolState>,
    /// Changes with each list of tools that was read.
    reads: watch::Sender<u64>,
    resources: Resources,
    prompts: Prompts,
    events: broadcast::Sender<HostEvent>,
    /// Whether something received events. The channel would take a lock to tell, for each call.
    is_observed: AtomicBool,
    requests: Mutex<Option<mpsc::Receiver<HostRequest>>>,
    closing: CancellationToken,
    following: Mutex<Option<JoinHandle<()>>>,
    /// Passes the events of servers on, if there was a receiver. Without one, calls need not wake a task.
    passing: Mutex<Option<JoinHandle<()>>>,
    _requests_task: AbortOnDrop,
}

/// Stops a task.
struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("servers", &self.statuses()).finish_non_exhaustive()
    }
}

impl Host {
    /// Starts the servers. Only required servers are awaited.
    ///
    /// # Errors
    /// If two servers have the same name, or a required server cannot be started.
    pub async fn start(config: HostConfig, options: HostOptions) -> Result<Self, StartError> {
        let host = Self::new(options);
        host.apply(config).await?;
        Ok(host)
    }

    /// A host without servers. [`Self::apply`] adds them.
    #[must_use]
    pub fn new(options: HostOptions) -> Self {
        let (sink, link) = (EventSink::default(), HostLink::new(options.support));
        link.set_roots(options.roots.clone());
        let (events, gate) =
            (broadcast::Sender::new(EVENTS), Arc::new(Gate::new(Default::default(), Arc::clone(&options.approver))));
        let (sender, requests) = mpsc::channel(REQUESTS);
        let task = tokio::spawn(requests::pass_on(link.subscribe(), Arc::clone(&gate), sender, events.clone()));
        let config = Arc::<Mutex<Arc<HostConfig>>>::default();
        let sandbox = SandboxState::new(sandbox_value(options.sandbox.as_ref()));
        let manager = Manager::new(ManagerOptions {
            connect: ConnectOptions {
                events: sink,
                host: Some(link.clone()),
                sandbox: Some(sandbox.clone()),
                ..ConnectOptions::default()
            },
            connector: connector(&options, Arc::clone(&config)),
            ..ManagerOptions::default()
        });
        let closing = CancellationToken::new();
        let inner = Arc::new(Inner {
            config,
            sandbox,
            tools: Mutex::new(tools::ToolState::new(options.naming)),
            reads: watch::Sender::new(0),
            resources: Resources::new(manager.clone()),
            prompts: Prompts::new(manager.clone(), options.naming),
            requests: Mutex::new(Some(requests)),
            following: Mutex::default(),
            passing: Mutex::default(),
            _requests_task: AbortOnDrop(task.abort_handle()),
            closing: closing.clone(),
            options,
            manager: manager.clone(),
            link,
            gate,
            events,
            is_observed: AtomicBool::new(false),
        });
        let following = tokio::spawn(event::follow(Arc::downgrade(&inner), manager.list_events(), closing));
        *lock(&inner.following) = Some(following);
        Self { inner }
    }

    /// Replaces servers and rules. Unchanged servers keep their connections, and choices of the user stay.
    ///
    /// # Errors
    /// If two servers have the same name, before any change; if a required server cannot be started, after all changes.
    pub async fn apply(&self, config: HostConfig) -> Result<(), StartError> {
        let servers: Vec<_> = config.servers.iter().map(|server| server.managed.clone()).collect();
        self.inner.gate.set_permissions(config.permissions.clone());
        self.inner.sandbox.set(sandbox_value(config.sandbox.as_ref().or(self.inner.options.sandbox.as_ref())));
        let before = std::mem::replace(&mut *lock(&self.inner.config), Arc::new(config));
        let applied = self.inner.manager.apply(servers).await;
        if let Err(StartError::Duplicate(_)) = applied {
            return applied.map(drop);
        }
        self.apply_tools(&before);
        applied.map(drop)
    }

    /// Closes all connections and waits for their end. Events up to the end are delivered.
    pub async fn close(&self) {
        self.inner.manager.close().await;
        self.inner.closing.cancel();
        for task in [&self.inner.following, &self.inner.passing] {
            let task = lock(task).take();
            if let Some(task) = task {
                // It only fails if it panicked.
                let _ = task.await;
            }
        }
    }

    /// Receives all events from now on.
    #[must_use]
    pub fn events(&self) -> broadcast::Receiver<HostEvent> {
        let Inner { events, manager, closing, is_observed, .. } = &*self.inner;
        let receiver = events.subscribe();
        is_observed.store(true, Ordering::Relaxed);
        lock(&self.inner.passing)
            .get_or_insert_with(|| tokio::spawn(event::pass_on(events.clone(), manager.events(), closing.clone())));
        receiver
    }

    /// Receives requests of servers that the rules allow. Only the first caller gets them.
    #[must_use]
    pub fn requests(&self) -> Option<mpsc::Receiver<HostRequest>> {
        lock(&self.inner.requests).take()
    }

    /// The status of each server.
    #[must_use]
    pub fn statuses(&self) -> BTreeMap<String, Status> {
        self.inner.manager.statuses()
    }

    /// The current configuration.
    #[must_use]
    pub fn config(&self) -> Arc<HostConfig> {
        Arc::clone(&lock(&self.inner.config))
    }

    /// Names of tools and prompts.
    #[must_use]
    pub fn naming(&self) -> Naming {
        self.inner.options.naming
    }

    /// Permission rules and choices of the user.
    #[must_use]
    pub fn gate(&self) -> &Gate {
        &self.inner.gate
    }

    /// The resources of all servers.
    #[must_use]
    pub fn resources(&self) -> &Resources {
        &self.inner.resources
    }

    /// The prompts of all servers.
    #[must_use]
    pub fn prompts(&self) -> &Prompts {
        &self.inner.prompts
    }

    /// Sets the directories and files that the user works on.
    pub fn set_roots(&self, roots: Vec<Root>) {
        self.inner.link.set_roots(roots);
    }

    /// The connection to a server, which is started if necessary.
    ///
    /// # Errors
    /// If the server cannot be used.
    pub async fn connection(&self, server: &str) -> Result<Connection, ServerError> {
        self.inner.manager.connection(server).await
    }

    /// Connects a server on request of the user, even after too many failures or a missing login.
    ///
    /// # Errors
    /// If the server cannot be used.
    pub async fn connect(&self, server: &str) -> Result<Connection, ServerError> {
        self.inner.manager.connect(server).await
    }

    /// Closes the connection to a server. The next use starts it again.
    ///
    /// # Errors
    /// If the server does not exist.
    pub async fn disconnect(&self, server: &str) -> Result<(), ServerError> {
        self.inner.manager.disconnect(server).await
    }

    /// The instructions of the connected servers, limited and quoted, for the prompt of the model.
    pub async fn instructions(&self, limits: InstructionLimits) -> Instructions {
        let mut greetings: Vec<(String, Option<Value>)> = Vec::new();
        for (server, status) in self.statuses() {
            if status == Status::Connected
                && let Ok(connection) = self.connection(&server).await
            {
                greetings.push((server, connection.greeting()));
            }
        }
        let texts = greetings.iter().map(|(server, greeting)| {
            (server.as_str(), greeting.as_ref().and_then(|greeting| instructions::from_initialization(greeting)))
        });
        instructions::collect(texts, limits)
    }
}

/// The state for servers; `null` is not sent.
fn sandbox_value(sandbox: Option<&Sandbox>) -> Value {
    sandbox.map_or(Value::Null, Sandbox::state)
}

/// The connector of the options, with stored credentials if there are any.
fn connector(options: &HostOptions, config: Arc<Mutex<Arc<HostConfig>>>) -> Arc<dyn Connector> {
    let connector = Arc::clone(&options.connector);
    match options.credentials.clone() {
        Some(store) => Arc::new(StoredCredentials { store, config, connector }),
        None => connector,
    }
}

impl Inner {
    /// Reports an event, which is built only if there was a receiver.
    fn report(&self, event: impl FnOnce() -> HostEvent) {
        if self.is_observed.load(Ordering::Relaxed) {
            // An error means that all receivers were dropped.
            let _ = self.events.send(event());
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
