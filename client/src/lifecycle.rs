//! From a configuration to a connection: which transport, which era, and what to say when it does not work.
//!
//! | endpoint | protocol | what is tried |
//! | --- | --- | --- |
//! | stdio, Streamable HTTP | auto | `server/discover`, and `initialize` on the same connection unless a modern server answers |
//! | stdio, Streamable HTTP | pinned | `initialize` or `server/discover`, whichever the revision has |
//! | HTTP+SSE | auto, or pinned to the legacy era | `initialize`: the transport is older than the modern era |
//! | auto | any | Streamable HTTP as above; HTTP+SSE if its POST is answered with 400, 404 or 405 |

mod failure;
mod memory;

use std::sync::Arc;

use rmcp::{
    RoleClient,
    model::{Implementation, InitializeRequestParams, RequestMetaObject},
    service::{ClientInitializeError, ClientLifecycleMode, RunningService, serve_client_with_lifecycle},
    transport::Transport,
};
use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncWrite};

pub use memory::Remembered;

use crate::{
    auth::Authorize,
    config::{Endpoint, HttpEndpoint, ProtocolChoice, ServerConfig, StdioEndpoint},
    connection::{Connection, Handler, Parts},
    direct::{Direct, Wire},
    error::{ConnectError, ConnectFailure, Stage},
    event::{Reporter, TransportKind},
    host::Desk,
    ledger::{Ledger, Wanted},
    link::Link,
    options::ConnectOptions,
    process::ChildProcess,
    revision::{Era, Revision},
    sandbox::SandboxState,
    transport::{http, sse::SseTransport, stdio::StdioTransport},
};

/// Connects to a server.
///
/// # Errors
/// A [`ConnectError`] that names the server, the stage and the last lines of its standard error. Whatever was started for
/// the attempt is being ended by then.
pub async fn connect(config: ServerConfig) -> Result<Connection, ConnectError> {
    connect_with(config, ConnectOptions::default()).await
}

/// Connects to a server with what the host program brings: events are reported from the first moment on.
///
/// # Errors
/// As [`connect`].
pub async fn connect_with(config: ServerConfig, options: ConnectOptions) -> Result<Connection, ConnectError> {
    Attempt::new(config, options).run().await
}

/// Connects to a server at the other end of two byte streams, one message per line as over stdio. The endpoint of `config`
/// is not looked at.
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

/// One attempt to connect.
struct Attempt {
    config: Arc<ServerConfig>,
    reporter: Reporter,
    authorizer: Option<Arc<dyn Authorize>>,
    /// Where the server's questions are taken.
    desk: Arc<Desk>,
    remembered: Option<Remembered>,
    sandbox: Option<SandboxState>,
    tried: Vec<String>,
}

/// What an attempt over one transport came to.
struct Failed {
    stage: Stage,
    failure: ConnectFailure,
    stderr: Vec<String>,
    /// The status with which the server refused a POST, if it did.
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
        let desk = Arc::new(Desk::new(&config.name, options.host));
        let remembered = options.remembered.filter(|remembered| remembered.helps(&config));
        let ConnectOptions { authorizer, sandbox, .. } = options;
        Self { config: Arc::new(config), reporter, authorizer, desk, remembered, sandbox, tried: Vec::new() }
    }

    async fn run(mut self) -> Result<Connection, ConnectError> {
        let mut outcome = self.once().await;
        if let (Err(failed), Some(remembered)) = (&outcome, self.remembered)
            && !memory::is_final(&failed.failure)
        {
            let way = if remembered.transport == TransportKind::Sse { "HTTP+SSE" } else { "a handshake" };
            self.tried.push(format!("{way}, which worked last time: {}", failed.failure));
            self.remembered = None;
            outcome = self.once().await;
        }
        outcome.map_err(|failed| self.explain(failed))
    }

    async fn once(&mut self) -> Result<Connection, Failed> {
        let config = Arc::clone(&self.config);
        match &config.endpoint {
            Endpoint::Stdio(endpoint) => self.stdio(endpoint).await,
            Endpoint::StreamableHttp(endpoint) => self.streamable_http(endpoint).await,
            Endpoint::Sse(endpoint) => self.sse(endpoint).await,
            Endpoint::Auto(endpoint) if self.remembered.is_some_and(|it| it.transport == TransportKind::Sse) => {
                self.sse(endpoint).await
            }
            Endpoint::Auto(endpoint) => self.either_http(endpoint).await,
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
        let ledger = self.ledger();
        let transport = StdioTransport::new(reader, writer, Arc::clone(&ledger));
        let wire = transport.lines().map(Wire::Lines);
        match self.greet(transport, &ledger, self.mode(), true).await {
            Ok(service) => Ok(self.assemble(service, &ledger, TransportKind::Stdio, None, wire)),
            Err(failure) => Err(Failed::at(ledger.stage(), failure)),
        }
    }

    fn authorizer(&self) -> Option<&Arc<dyn Authorize>> {
        self.authorizer.as_ref()
    }

    fn ledger(&self) -> Arc<Ledger> {
        let (handshake, pinned) = match self.config.protocol {
            ProtocolChoice::Pinned(revision) => (revision, true),
            ProtocolChoice::Auto => (Revision::NEWEST_LEGACY, false),
        };
        let wanted = Wanted { handshake, pinned, both_eras: !pinned };
        Ledger::new(self.reporter.clone(), self.config.limits, wanted)
    }

    fn mode(&self) -> ClientLifecycleMode {
        match self.config.protocol {
            ProtocolChoice::Auto if self.remembered.is_some() => ClientLifecycleMode::Initialize,
            ProtocolChoice::Auto => ClientLifecycleMode::Auto {
                preferred_versions: vec![Revision::NEWEST_MODERN.to_sdk()],
                legacy_version: Some(Revision::NEWEST_LEGACY.to_sdk()),
            },
            ProtocolChoice::Pinned(revision) if revision.era() == Era::Modern => {
                ClientLifecycleMode::Discover { preferred_versions: vec![revision.to_sdk()] }
            }
            ProtocolChoice::Pinned(_) => ClientLifecycleMode::Initialize,
        }
    }

    async fn stdio(&self, endpoint: &StdioEndpoint) -> Result<Connection, Failed> {
        let ledger = self.ledger();
        let config = &self.config;
        let spawned = ChildProcess::spawn(endpoint, config.shutdown, config.limits.stderr_lines);
        let start_failure = |source| Failed::at(Stage::Spawn, failure::of_start(endpoint, source));
        let (child, pipes) = spawned.map_err(start_failure)?;
        let stdin = tokio::net::unix::pipe::Sender::from_owned_fd(pipes.stdin).map_err(start_failure)?;
        let stdout = tokio::net::unix::pipe::Receiver::from_owned_fd(pipes.stdout).map_err(start_failure)?;
        let transport = StdioTransport::new(stdout, stdin, Arc::clone(&ledger));
        let wire = transport.lines().map(Wire::Lines);
        let greeted = self.greet(transport, &ledger, self.mode(), true).await;
        match greeted {
            Ok(service) => Ok(self.assemble(service, &ledger, TransportKind::Stdio, Some(child), wire)),
            Err(failure) => {
                let mut failed = Failed::at(ledger.stage(), failure);
                failure::of_process(&mut failed, &child, endpoint).await;
                Err(failed)
            }
        }
    }

    async fn streamable_http(&self, endpoint: &HttpEndpoint) -> Result<Connection, Failed> {
        let ledger = self.ledger();
        let config_failure = |failure| Failed::at(Stage::Configure, failure);
        let probe_limit = self.config.timeouts.probe_limit();
        let opened = http::transport(endpoint, &ledger, probe_limit, self.authorizer()).await;
        let (transport, client) = opened.map_err(config_failure)?;
        let wire = Some(Wire::Http(client));
        match self.greet(transport, &ledger, self.mode(), false).await {
            Ok(service) => Ok(self.assemble(service, &ledger, TransportKind::StreamableHttp, None, wire)),
            Err(failure) => {
                let mut failed = Failed::at(ledger.stage(), failure);
                // Only the refusal of the handshake counts: that of a probe has already led to the handshake, or was a modern
                // server's own answer.
                if failed.stage == Stage::Initialize {
                    failed.refused_with = ledger.http_problem().map(|problem| problem.status);
                }
                Err(failed)
            }
        }
    }

    async fn sse(&self, endpoint: &HttpEndpoint) -> Result<Connection, Failed> {
        if let ProtocolChoice::Pinned(revision) = self.config.protocol
            && revision.era() == Era::Modern
        {
            let detail = format!("revision {revision} does not exist over HTTP+SSE");
            return Err(Failed::at(Stage::Configure, ConnectFailure::Config { detail }));
        }
        let ledger = self.ledger();
        let limit = self.config.timeouts.startup;
        let opened = ledger.pause.timeout(limit, SseTransport::open(endpoint, &ledger, self.authorizer(), limit)).await;
        let transport = opened
            .unwrap_or(Err(ConnectFailure::StartupTimeout { limit }))
            .map_err(|failure| Failed::at(Stage::Connect, failure))?;
        let greeted = self.greet(transport, &ledger, ClientLifecycleMode::Initialize, false).await;
        match greeted {
            Ok(service) => Ok(self.assemble(service, &ledger, TransportKind::Sse, None, None)),
            Err(failure) => Err(Failed::at(ledger.stage(), failure)),
        }
    }

    async fn either_http(&mut self, endpoint: &HttpEndpoint) -> Result<Connection, Failed> {
        let first = match self.streamable_http(endpoint).await {
            Ok(connection) => return Ok(connection),
            Err(failed) => failed,
        };
        // "If it fails with the following HTTP status codes […]: 400, 404, 405: Issue a GET request […] expecting that
        // this will open an SSE stream" (2025-11-25, transports, "Backwards Compatibility").
        let legacy_possible =
            !matches!(self.config.protocol, ProtocolChoice::Pinned(revision) if revision.era() == Era::Modern);
        let refused = matches!(first.failure, ConnectFailure::HttpStatus { .. } | ConnectFailure::Rpc { .. });
        if !(legacy_possible && refused && matches!(first.refused_with, Some(400 | 404 | 405))) {
            return Err(first);
        }
        self.tried.push(format!("Streamable HTTP: {}", first.failure));
        match self.sse(endpoint).await {
            Ok(connection) => Ok(connection),
            Err(second) => {
                self.tried.push(format!("HTTP+SSE: {}", second.failure));
                // Where both fail, the first answer is the one that the user's URL was meant for.
                Err(first)
            }
        }
    }

    /// The handshake, or the probe and what follows from it.
    async fn greet<T: Transport<RoleClient> + 'static>(
        &self,
        transport: T,
        ledger: &Arc<Ledger>,
        mode: ClientLifecycleMode,
        link_probes: bool,
    ) -> Result<RunningService<RoleClient, Handler>, ConnectFailure> {
        let timeouts = &self.config.timeouts;
        let probing = link_probes && ledger.wanted.both_eras;
        let link = Link::new(transport, Arc::clone(ledger), probing.then(|| timeouts.probe_limit()));
        let hello = InitializeRequestParams::new(self.desk.capabilities(), implementation())
            .with_protocol_version(ledger.wanted.handshake.to_sdk());
        let handler = Handler::new(hello, Arc::clone(&self.desk), Arc::clone(ledger));
        let serving = serve_client_with_lifecycle(handler, link, mode);
        match ledger.pause.timeout(timeouts.startup, serving).await {
            Ok(Ok(service)) => Ok(service),
            Ok(Err(error)) => Err(failure::of_handshake(error, ledger)),
            Err(_) => {
                Err(failure::of_ledger(ledger).unwrap_or(ConnectFailure::StartupTimeout { limit: timeouts.startup }))
            }
        }
    }

    /// What every request says of the client in the modern era (2026-07-28, basic, "_meta").
    fn meta(&self, revision: Revision) -> Map<String, Value> {
        let mut meta = RequestMetaObject::new();
        if revision.era() == Era::Modern {
            meta.set_protocol_version(revision.to_sdk());
            meta.set_client_info(implementation());
            meta.set_client_capabilities(self.desk.capabilities());
        }
        match serde_json::to_value(meta) {
            Ok(Value::Object(meta)) => meta,
            _ => Map::new(),
        }
    }

    fn assemble(
        &self,
        service: RunningService<RoleClient, Handler>,
        ledger: &Arc<Ledger>,
        transport: TransportKind,
        child: Option<ChildProcess>,
        wire: Option<Wire>,
    ) -> Connection {
        let agreed = service.peer_info().map(|info| info.protocol_version.to_string());
        // The ledger lets no other revision pass: neither in the handshake nor in the answer to the probe.
        let revision = agreed.and_then(|text| text.parse().ok()).unwrap_or(ledger.wanted.handshake);
        let why = match (self.config.protocol, ledger.probe_outcome()) {
            (ProtocolChoice::Pinned(revision), _) => format!("revision {revision} is configured"),
            (ProtocolChoice::Auto, _) if self.remembered.is_some() => "it is what worked last time".to_owned(),
            (ProtocolChoice::Auto, Some(outcome)) => outcome,
            (ProtocolChoice::Auto, None) => "the transport belongs to the legacy era".to_owned(),
        };
        let why = self.tried.iter().fold(why, |why, tried| format!("{tried}; {why}"));
        let config = Arc::clone(&self.config);
        let (ledger, desk) = (Arc::clone(ledger), Arc::clone(&self.desk));
        let direct = wire.map(|wire| Direct::new(wire, revision, Arc::clone(&ledger), self.meta(revision)));
        let sandbox = self.sandbox.clone();
        Connection::new(Parts { config, ledger, desk, service, revision, transport, why, child, direct, sandbox })
    }
}

/// What this client says of itself.
fn implementation() -> Implementation {
    Implementation::new("mcp-workbench", env!("CARGO_PKG_VERSION"))
}

/// Whether an error of the handshake is one of the transport.
fn is_transport(error: &ClientInitializeError) -> bool {
    matches!(error, ClientInitializeError::TransportError { .. })
}
