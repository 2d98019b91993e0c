//! Connecting: selects the transport and the era, and reports why it failed.
//!
//! | endpoint | revision | attempts |
//! | --- | --- | --- |
//! | stdio, Streamable HTTP | auto | `server/discover`, then `initialize` unless a modern server responds |
//! | stdio, Streamable HTTP | pinned | `initialize` or `server/discover`, depending on the revision |
//! | HTTP+SSE | auto, or a legacy revision | `initialize`: the transport is older than the modern era |
//! | auto | any | Streamable HTTP as above; HTTP+SSE if the status of its POST is 400, 404 or 405 |

mod failure;
mod memory;

use std::sync::Arc;

use evidence::Transport;
use rmcp::{
    RoleClient,
    model::{Implementation, InitializeRequestParams, RequestMetaObject},
    service::{ClientInitializeError, ClientLifecycleMode, RunningService, serve_client_with_lifecycle},
};
use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncWrite};

pub use memory::Remembered;

use crate::{
    auth::Authorize,
    config::{Endpoint, HttpEndpoint, RevisionChoice, ServerConfig, StdioEndpoint},
    connection::{Connection, Handler, Parts},
    direct::{DirectCalls, DirectTransport},
    error::{ConnectError, ConnectFailure, Stage},
    event::Reporter,
    host::HostDispatcher,
    options::ConnectOptions,
    process::{ChildProcess, async_pipes},
    revision::{Era, Revision, rules, stateless_revisions, to_sdk},
    sandbox::SandboxState,
    tracked::TrackedTransport,
    tracker::{AcceptedRevisions, RequestTracker},
    transport::{http, sse::SseTransport, stdio::StdioTransport},
};

/// Connects to a server.
///
/// # Errors
/// A [`ConnectError`] with the server, the stage and the last lines of standard error. Processes that were started for
/// the attempt are being stopped.
pub async fn connect(config: ServerConfig) -> Result<Connection, ConnectError> {
    connect_with(config, ConnectOptions::default()).await
}

/// Connects to a server with options of the host program. Events are reported from the start.
///
/// # Errors
/// As [`connect`].
pub async fn connect_with(config: ServerConfig, options: ConnectOptions) -> Result<Connection, ConnectError> {
    // On the heap: the futures of connecting are large, and debug builds copy them at each level.
    Box::pin(Attempt::new(config, options).run()).await
}

/// Connects to a server over two byte streams, with one message per line. The endpoint of `config` is ignored.
///
/// # Errors
/// As [`connect`].
pub async fn connect_over(
    config: ServerConfig,
    reader: impl AsyncRead + Unpin + Send + 'static,
    writer: impl AsyncWrite + Unpin + Send + 'static,
    options: ConnectOptions,
) -> Result<Connection, ConnectError> {
    let attempt = Attempt::new(config, options);
    let outcome = attempt.streams(reader, writer).await;
    outcome.map_err(|failed| attempt.explain(failed))
}

/// An attempt to connect.
struct Attempt {
    config: Arc<ServerConfig>,
    reporter: Reporter,
    authorizer: Option<Arc<dyn Authorize>>,
    /// Handles server requests.
    dispatcher: Arc<HostDispatcher>,
    remembered: Option<Remembered>,
    sandbox: Option<SandboxState>,
    tried: Vec<String>,
}

/// A failed attempt over one transport.
struct Failed {
    stage: Stage,
    failure: ConnectFailure,
    stderr: Vec<String>,
    /// The status of a rejected POST.
    refused_with: Option<u16>,
}

impl Failed {
    fn at(stage: Stage, failure: ConnectFailure) -> Self {
        Self { stage, failure, stderr: Vec::new(), refused_with: None }
    }
}

impl Attempt {
    fn new(config: ServerConfig, options: ConnectOptions) -> Self {
        let reporter = Reporter::new(&config.name, options.events);
        let dispatcher = Arc::new(HostDispatcher::new(&config.name, options.host));
        let remembered = options.remembered.filter(|remembered| remembered.helps(&config));
        let ConnectOptions { authorizer, sandbox, .. } = options;
        Self { config: Arc::new(config), reporter, authorizer, dispatcher, remembered, sandbox, tried: Vec::new() }
    }

    async fn run(mut self) -> Result<Connection, ConnectError> {
        let mut outcome = self.once().await;
        if let (Err(failed), Some(remembered)) = (&outcome, self.remembered)
            && !memory::is_final(&failed.failure)
        {
            let attempt = if remembered.transport == Transport::HttpSse { "HTTP+SSE" } else { "a handshake" };
            self.tried.push(format!("{attempt}, which worked last time: {}", failed.failure));
            self.remembered = None;
            outcome = self.once().await;
        }
        outcome.map_err(|failed| self.explain(failed))
    }

    async fn once(&mut self) -> Result<Connection, Failed> {
        let config = Arc::clone(&self.config);
        match &config.endpoint {
            Endpoint::Stdio(endpoint) => Box::pin(self.stdio(endpoint)).await,
            Endpoint::StreamableHttp(endpoint) => Box::pin(self.streamable_http(endpoint)).await,
            Endpoint::Sse(endpoint) => Box::pin(self.sse(endpoint)).await,
            Endpoint::Auto(endpoint) if self.remembered.is_some_and(|it| it.transport == Transport::HttpSse) => {
                Box::pin(self.sse(endpoint)).await
            }
            Endpoint::Auto(endpoint) => Box::pin(self.either_http(endpoint)).await,
        }
    }

    fn explain(self, failed: Failed) -> ConnectError {
        ConnectError {
            server: self.config.name.clone(),
            stage: failed.stage,
            failure: Box::new(failed.failure),
            stderr: failed.stderr,
            tried: self.tried,
        }
    }

    async fn streams(
        &self,
        reader: impl AsyncRead + Unpin + Send + 'static,
        writer: impl AsyncWrite + Unpin + Send + 'static,
    ) -> Result<Connection, Failed> {
        let tracker = self.tracker();
        let transport = StdioTransport::new(reader, writer, Arc::clone(&tracker));
        let wire = transport.lines().map(DirectTransport::Lines);
        match self.greet(transport, &tracker, self.mode(), true).await {
            Ok(service) => Ok(self.assemble(service, &tracker, Transport::Stdio, None, wire)),
            Err(failure) => Err(Failed::at(tracker.stage(), failure)),
        }
    }

    fn authorizer(&self) -> Option<&Arc<dyn Authorize>> {
        self.authorizer.as_ref()
    }

    fn tracker(&self) -> Arc<RequestTracker> {
        let (handshake, pinned) = match self.config.protocol {
            RevisionChoice::Pinned(revision) => (revision, true),
            RevisionChoice::Auto => (Revision::NEWEST_LEGACY, false),
        };
        let wanted = AcceptedRevisions { handshake, pinned, both_eras: !pinned };
        RequestTracker::new(self.reporter.clone(), self.config.limits, wanted)
    }

    fn mode(&self) -> ClientLifecycleMode {
        match self.config.protocol {
            RevisionChoice::Auto if self.remembered.is_some() => ClientLifecycleMode::Initialize,
            RevisionChoice::Auto => ClientLifecycleMode::Auto {
                preferred_versions: stateless_revisions().map(to_sdk).collect(),
                legacy_version: Some(to_sdk(Revision::NEWEST_LEGACY)),
            },
            RevisionChoice::Pinned(revision) => match revision.era() {
                Era::Legacy => ClientLifecycleMode::Initialize,
                Era::Modern => ClientLifecycleMode::Discover { preferred_versions: vec![to_sdk(revision)] },
            },
        }
    }

    async fn stdio(&self, endpoint: &StdioEndpoint) -> Result<Connection, Failed> {
        let tracker = self.tracker();
        let config = &self.config;
        let spawned = ChildProcess::spawn(endpoint, config.shutdown, config.limits.stderr_lines);
        let start_failure = |source| Failed::at(Stage::Spawn, failure::spawn_failure(endpoint, source));
        let (child, pipes) = spawned.map_err(start_failure)?;
        let (stdout, stdin) = async_pipes(pipes.stdin, pipes.stdout).map_err(start_failure)?;
        let transport = StdioTransport::new(stdout, stdin, Arc::clone(&tracker));
        let wire = transport.lines().map(DirectTransport::Lines);
        let greeted = self.greet(transport, &tracker, self.mode(), true).await;
        match greeted {
            Ok(service) => Ok(self.assemble(service, &tracker, Transport::Stdio, Some(child), wire)),
            Err(failure) => {
                let mut failed = Failed::at(tracker.stage(), failure);
                failure::add_process_exit(&mut failed, &child, endpoint).await;
                Err(failed)
            }
        }
    }

    async fn streamable_http(&self, endpoint: &HttpEndpoint) -> Result<Connection, Failed> {
        let tracker = self.tracker();
        let config_failure = |failure| Failed::at(Stage::Configure, failure);
        let probe_limit = self.config.timeouts.probe_limit();
        let opened = http::transport(endpoint, &tracker, probe_limit, self.authorizer()).await;
        let (transport, client) = opened.map_err(config_failure)?;
        let wire = Some(DirectTransport::Http(client));
        match self.greet(transport, &tracker, self.mode(), false).await {
            Ok(service) => Ok(self.assemble(service, &tracker, Transport::StreamableHttp, None, wire)),
            Err(failure) => {
                let mut failed = Failed::at(tracker.stage(), failure);
                // Only a rejected handshake counts. A rejected probe has already led to the handshake, or was the
                // response of a modern server.
                if failed.stage == Stage::Initialize {
                    failed.refused_with = tracker.http_problem().map(|problem| problem.status);
                }
                Err(failed)
            }
        }
    }

    async fn sse(&self, endpoint: &HttpEndpoint) -> Result<Connection, Failed> {
        if let RevisionChoice::Pinned(revision) = self.config.protocol
            && !Transport::HttpSse.carries(revision)
        {
            let detail = format!("revision {revision} is not available over HTTP+SSE");
            return Err(Failed::at(Stage::Configure, ConnectFailure::Config { detail }));
        }
        let tracker = self.tracker();
        let limit = self.config.timeouts.startup;
        let opened =
            tracker.pause.timeout(limit, SseTransport::open(endpoint, &tracker, self.authorizer(), limit)).await;
        let transport = opened
            .unwrap_or(Err(ConnectFailure::StartupTimeout { limit }))
            .map_err(|failure| Failed::at(Stage::Connect, failure))?;
        let greeted = self.greet(transport, &tracker, ClientLifecycleMode::Initialize, false).await;
        match greeted {
            Ok(service) => Ok(self.assemble(service, &tracker, Transport::HttpSse, None, None)),
            Err(failure) => Err(Failed::at(tracker.stage(), failure)),
        }
    }

    async fn either_http(&mut self, endpoint: &HttpEndpoint) -> Result<Connection, Failed> {
        let first = match Box::pin(self.streamable_http(endpoint)).await {
            Ok(connection) => return Ok(connection),
            Err(failed) => failed,
        };
        // "If it fails with the following HTTP status codes […]: 400, 404, 405: Issue a GET request […] expecting that
        // this will open an SSE stream" (2025-11-25, transports, "Backwards Compatibility").
        let legacy_possible =
            !matches!(self.config.protocol, RevisionChoice::Pinned(revision) if !Transport::HttpSse.carries(revision));
        let rejected = matches!(first.failure, ConnectFailure::HttpStatus { .. } | ConnectFailure::Rpc { .. });
        if !(legacy_possible && rejected && matches!(first.refused_with, Some(400 | 404 | 405))) {
            return Err(first);
        }
        self.tried.push(format!("Streamable HTTP: {}", first.failure));
        match Box::pin(self.sse(endpoint)).await {
            Ok(connection) => Ok(connection),
            Err(second) => {
                self.tried.push(format!("HTTP+SSE: {}", second.failure));
                // If both fail, the first error belongs to the transport that the URL is meant for.
                Err(first)
            }
        }
    }

    /// Runs the handshake, or the probe and its consequences.
    async fn greet<T: rmcp::transport::Transport<RoleClient> + 'static>(
        &self,
        transport: T,
        tracker: &Arc<RequestTracker>,
        mode: ClientLifecycleMode,
        over_stdio: bool,
    ) -> Result<RunningService<RoleClient, Handler>, ConnectFailure> {
        let timeouts = &self.config.timeouts;
        // Over HTTP the transport has a timeout of its own for the probe.
        let probing = over_stdio && tracker.wanted.both_eras;
        let link = TrackedTransport::new(transport, Arc::clone(tracker), over_stdio)
            .with_probe_limit(probing.then(|| timeouts.probe_limit()));
        let initialize = InitializeRequestParams::new(self.dispatcher.capabilities(), implementation())
            .with_protocol_version(to_sdk(tracker.wanted.handshake));
        let handler = Handler::new(initialize, Arc::clone(&self.dispatcher), Arc::clone(tracker));
        let serving = serve_client_with_lifecycle(handler, link, mode);
        match tracker.pause.timeout(timeouts.startup, serving).await {
            Ok(Ok(service)) => Ok(service),
            Ok(Err(error)) => Err(failure::handshake_failure(error, tracker)),
            Err(_) => Err(failure::recorded_failure(tracker)
                .unwrap_or(ConnectFailure::StartupTimeout { limit: timeouts.startup })),
        }
    }

    /// Client information of each request in the modern era (2026-07-28, basic, "_meta").
    fn meta(&self, revision: Revision) -> Map<String, Value> {
        let mut meta = RequestMetaObject::new();
        if rules(revision).stateless {
            meta.set_protocol_version(to_sdk(revision));
            meta.set_client_info(implementation());
            meta.set_client_capabilities(self.dispatcher.capabilities());
        }
        match serde_json::to_value(meta) {
            Ok(Value::Object(meta)) => meta,
            _ => Map::new(),
        }
    }

    fn assemble(
        &self,
        service: RunningService<RoleClient, Handler>,
        tracker: &Arc<RequestTracker>,
        transport: Transport,
        child: Option<ChildProcess>,
        wire: Option<DirectTransport>,
    ) -> Connection {
        let agreed = service.peer_info().map(|info| info.protocol_version.to_string());
        // The tracker rejects other revisions, both in the handshake and in the response to the probe.
        let revision = agreed.and_then(|text| text.parse().ok()).unwrap_or(tracker.wanted.handshake);
        let why = match (self.config.protocol, tracker.probe_outcome()) {
            (RevisionChoice::Pinned(revision), _) => format!("revision {revision} is configured"),
            (RevisionChoice::Auto, _) if self.remembered.is_some() => "it worked last time".to_owned(),
            (RevisionChoice::Auto, Some(outcome)) => outcome,
            (RevisionChoice::Auto, None) => "the transport belongs to the legacy era".to_owned(),
        };
        let why = self.tried.iter().fold(why, |why, tried| format!("{tried}; {why}"));
        let config = Arc::clone(&self.config);
        let (tracker, dispatcher) = (Arc::clone(tracker), Arc::clone(&self.dispatcher));
        let direct = wire.map(|wire| DirectCalls::new(wire, revision, Arc::clone(&tracker), self.meta(revision)));
        let sandbox = self.sandbox.clone();
        Connection::new(Parts {
            config,
            tracker,
            dispatcher,
            service,
            revision,
            transport,
            why,
            child,
            direct,
            sandbox,
        })
    }
}

/// Name and version of this client.
fn implementation() -> Implementation {
    Implementation::new("mcp-workbench", env!("CARGO_PKG_VERSION"))
}

/// Whether an error of the handshake is a transport error.
fn is_transport(error: &ClientInitializeError) -> bool {
    matches!(error, ClientInitializeError::TransportError { .. })
}
