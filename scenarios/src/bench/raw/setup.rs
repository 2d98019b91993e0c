//! Connects before a load: revision, sessions and the tool with the built-in client, then the workers.

use std::{io, path::PathBuf, sync::Arc};

use client::{Connection, Endpoint, RequestHead, ServerConfig, Transport, process::ServerProcess};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{
    STOP, Worker,
    http::{Address, HttpWorker, Route},
    http2::{self, Http2Worker},
    reply::Verifier,
    request::{EncodedRequest, OperationRequests, Requests, http2_head, page_params},
    share::Share,
    stdio::{self, StdioWorker},
};
use crate::{
    bench::{
        LoadPlan,
        connect::ClientCaller,
        iteration::{Operation, has_placeholder},
        shared::threads,
        template::{Slot, Template},
    },
    model::Shape,
};

/// Lines of standard error in the message about a server that does not start.
const STDERR_LINES: usize = 20;

/// Connections to open before an open loop; further ones are opened when needed.
const OPEN_LOOP_CONNECTIONS: usize = 64;

/// A server with connected workers.
pub(crate) struct RawTarget {
    workers: Vec<Worker>,
    transport: Transport,
    /// The sessions of the workers; empty over stdio.
    sessions: Option<ClientCaller>,
    processes: Vec<ServerProcess>,
}

/// Why the raw driver cannot execute a load on this connection; `None` if it can.
pub(crate) fn supports(caller: &ClientCaller, plan: &LoadPlan) -> Option<String> {
    if plan.user().is_some() {
        return Some("only the complete client answers requests of the server".to_owned());
    }
    let mut operations = plan.iterations().operations().iter().map(|operation| &operation.definition);
    if let Some(operation) = operations.find(|operation| operation.needs_client()) {
        return Some(format!("`{}` is more than a request", operation.name()));
    }
    match caller.connection().transport() {
        Transport::Stdio => stdio::UNAVAILABLE.map(str::to_owned),
        Transport::StreamableHttp => {
            let operations = plan.iterations().operations().iter();
            let unsupported = operations.filter(|operation| head(caller.connection(), operation).is_none());
            let name = unsupported.map(|operation| operation.definition.name()).next()?;
            Some(format!("the headers of `{name}` depend on the arguments or on an encoding"))
        }
        Transport::HttpSse => Some("the server supports only HTTP+SSE".to_owned()),
    }
}

/// The head of the requests of an operation.
fn head(connection: &Connection, operation: &Operation) -> Option<RequestHead> {
    let name = operation.header_name();
    if connection.revision().is_modern() && name.as_deref().is_some_and(has_placeholder) {
        return None;
    }
    connection.request_head(operation.definition.known_method()?, name.as_deref())
}

impl RawTarget {
    /// Connects the workers. `caller` has the sessions, and closes with the target.
    ///
    /// # Errors
    /// If an address cannot be resolved, a server does not start, or the system has no descriptors.
    pub(crate) async fn connect(config: &ServerConfig, caller: ClientCaller, plan: &LoadPlan) -> io::Result<Self> {
        let verifier = Verifier::new(plan.iterations());
        let transport = caller.connection().transport();
        match &config.endpoint {
            Endpoint::Stdio(_) => {
                let (workers, processes) = over_stdio(config, &caller, plan, &verifier).await?;
                Ok(Self { workers, transport, sessions: None, processes })
            }
            Endpoint::StreamableHttp(_) | Endpoint::Sse(_) | Endpoint::Auto(_) => {
                let workers = if plan.http2() {
                    http2(http2_routes(&caller, plan)?, &verifier, plan).await?
                } else {
                    http(routes(&caller, plan)?, &verifier, plan).await?
                };
                Ok(Self { workers, transport, sessions: Some(caller), processes: Vec::new() })
            }
        }
    }

    pub(super) fn take_workers(&mut self) -> Vec<Worker> {
        std::mem::take(&mut self.workers)
    }

    /// The transport.
    pub(crate) fn transport(&self) -> Transport {
        self.transport
    }

    /// Process ids of the servers, over stdio.
    pub(crate) fn processes(&self) -> Vec<i32> {
        self.processes.iter().filter_map(ServerProcess::pid).collect()
    }

    /// Ends sessions and processes.
    pub(crate) async fn close(self) {
        drop(self.workers);
        if let Some(sessions) = self.sessions {
            sessions.close().await;
        }
        futures::future::join_all(self.processes.into_iter().map(ServerProcess::stop)).await;
    }
}

/// The requests of all operations. `encode` encodes one with its parameters.
fn requests(
    connection: &Connection,
    plan: &LoadPlan,
    encode: impl Fn(&Operation, Template) -> io::Result<EncodedRequest>,
) -> io::Result<Requests> {
    let unknown = |name: String| io::Error::other(format!("unknown placeholder `{name}`"));
    let iterations = plan.iterations();
    let encoded = iterations.operations().iter().map(|operation| {
        let mut params = with_meta(operation.definition.params(), connection);
        if plan.request_progress() {
            request_progress(&mut params);
        }
        let slot = |name: &str| if name == OWN_ID { Some(Slot::Id) } else { iterations.slot(name) };
        let encoded = |params, slot: &dyn Fn(&str) -> Option<Slot>| {
            encode(operation, Template::new(&Value::Object(params), slot).map_err(unknown)?)
        };
        let first = encoded(params.clone(), &slot)?;
        let page = operation.list().map(|_| {
            let slot = |name: &str| if name == "cursor" { Some(Slot::Cursor) } else { slot(name) };
            encoded(page_params(params), &slot)
        });
        Ok(OperationRequests { first, page: page.transpose()? })
    });
    Ok(Requests::new(encoded.collect::<io::Result<_>>()?, Arc::clone(iterations.data())))
}

/// The placeholder of the id of the request, with a name that no column of data has.
const OWN_ID: &str = "id of this request";

/// Asks for notifications about the progress. The token is the id of the request, which is unique in its session
/// (2025-11-25, basic/utilities/progress, "Progress Flow").
fn request_progress(params: &mut Map<String, Value>) {
    let meta = params.entry("_meta").or_insert_with(|| Map::new().into());
    if let Value::Object(meta) = meta {
        meta.insert("progressToken".to_owned(), format!("{{{{{OWN_ID}}}}}").into());
    }
}

fn with_meta(mut params: Map<String, Value>, connection: &Connection) -> Map<String, Value> {
    let meta = connection.request_meta();
    if !meta.is_empty() {
        params.insert("_meta".to_owned(), meta.into());
    }
    params
}

/// The address of each session. Equal addresses are shared.
fn addresses(caller: &ClientCaller, plan: &LoadPlan) -> io::Result<Vec<Arc<Address>>> {
    let mut known: Option<(PathBuf, url::Url, Arc<Address>)> = None;
    let mut addresses = Vec::new();
    for connection in caller.all() {
        let operations = plan.iterations().operations();
        let any = operations.first().and_then(|operation| head(connection, operation)).ok_or_else(lost)?;
        let RequestHead { url, socket, .. } = any;
        let path = socket.clone().unwrap_or_default();
        let address = match &known {
            Some((known_path, known_url, address)) if *known_path == path && *known_url == url => Arc::clone(address),
            _ => Arc::new(Address::new(&url, socket.as_ref())?),
        };
        known = Some((path, url, Arc::clone(&address)));
        addresses.push(address);
    }
    Ok(addresses)
}

fn lost() -> io::Error {
    io::Error::other("the session was lost before the first call")
}

/// A route per session.
fn routes(caller: &ClientCaller, plan: &LoadPlan) -> io::Result<Vec<Route>> {
    let mut routes = Vec::new();
    for (connection, address) in caller.all().iter().zip(addresses(caller, plan)?) {
        let requests = requests(connection, plan, |operation, params| {
            let head = head(connection, operation).ok_or_else(lost)?;
            Ok(EncodedRequest::post(&head, operation.definition.method(), params))
        })?;
        routes.push(Route { address, requests });
    }
    Ok(routes)
}

/// A route per session, and so per connection.
fn http2_routes(caller: &ClientCaller, plan: &LoadPlan) -> io::Result<Vec<http2::Route>> {
    let mut routes = Vec::new();
    for (connection, address) in caller.all().iter().zip(addresses(caller, plan)?) {
        let operations = plan.iterations().operations().iter();
        let heads = operations.map(|operation| http2_head(&head(connection, operation).ok_or_else(lost)?));
        let heads = heads.collect::<io::Result<_>>()?;
        let requests = requests(connection, plan, |operation, params| {
            Ok(EncodedRequest::body(operation.definition.method(), params))
        })?;
        routes.push(http2::Route { address, requests, heads });
    }
    Ok(routes)
}

async fn http(routes: Vec<Route>, verifier: &Verifier, plan: &LoadPlan) -> io::Result<Vec<Worker>> {
    let connections = match plan.shape() {
        Shape::Closed(closed) => closed.users,
        Shape::Open(_) => plan.concurrency().min(OPEN_LOOP_CONNECTIONS),
    };
    let workers = threads(connections);
    let mut connected = Vec::new();
    for worker in 0..workers {
        let share = Share { worker, workers };
        // Sessions are distributed over the workers, so that each one sees all of its own.
        let own: Vec<Route> = routes.iter().skip(worker % routes.len()).step_by(workers).cloned().collect();
        let verifier = verifier.clone();
        let opened = share.part(connections);
        let http = HttpWorker::new(own, verifier, opened, (worker, workers))?;
        connected.push(Worker::Http(Box::new(http)));
    }
    Ok(connected)
}

async fn http2(routes: Vec<http2::Route>, verifier: &Verifier, plan: &LoadPlan) -> io::Result<Vec<Worker>> {
    let workers = threads(routes.len().min(plan.concurrency()));
    let deadline = Instant::now() + plan.timeout();
    let mut connected = Vec::new();
    for worker in 0..workers {
        let own = routes.iter().skip(worker).step_by(workers).cloned().collect();
        let verifier = verifier.clone();
        let connecting = move || Http2Worker::connect(own, verifier, (worker, workers), deadline);
        let http = tokio::task::spawn_blocking(connecting).await.map_err(io::Error::other)??;
        connected.push(Worker::Http2(Box::new(http)));
    }
    Ok(connected)
}

async fn over_stdio(
    config: &ServerConfig,
    caller: &ClientCaller,
    plan: &LoadPlan,
    verifier: &Verifier,
) -> io::Result<(Vec<Worker>, Vec<ServerProcess>)> {
    let Endpoint::Stdio(endpoint) = &config.endpoint else { return Ok((Vec::new(), Vec::new())) };
    let connection = caller.connection().clone();
    let count = caller.connections();
    let requests = requests(&connection, plan, |operation, params| {
        Ok(EncodedRequest::line(operation.definition.method(), params))
    })?;
    let (method, params) = greeting(&connection);
    // Two servers of one command may exclude each other, so the one that was asked first ends first.
    caller.close().await;
    let (mut workers, mut processes) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let (process, pipes) = ServerProcess::start(endpoint, config.shutdown, STDERR_LINES)?;
        let (params, requests, verifier) = (params.clone(), requests.clone(), verifier.clone());
        let deadline = Instant::now() + config.timeouts.startup;
        let connected = tokio::task::spawn_blocking(move || {
            StdioWorker::connect(pipes, (method, &params), requests, verifier, deadline)
        });
        match connected.await.map_err(io::Error::other)? {
            Ok(worker) => workers.push(Worker::Stdio(Box::new(worker))),
            Err(cause) => {
                let exit = process.exit(STOP).await.unwrap_or_default();
                let stderr = process.stderr().join(" | ");
                return Err(io::Error::other(format!("{cause}; {exit}; its standard error ends with: {stderr}")));
            }
        }
        processes.push(process);
    }
    Ok((workers, processes))
}

/// The first request of a process in this revision.
fn greeting(connection: &Connection) -> (&'static str, Map<String, Value>) {
    if connection.revision().is_modern() {
        return ("server/discover", with_meta(Map::new(), connection));
    }
    let params = json!({
        "protocolVersion": connection.revision().as_str(),
        "capabilities": {},
        "clientInfo": { "name": "mcp-workbench", "version": env!("CARGO_PKG_VERSION") },
    });
    ("initialize", params.as_object().cloned().unwrap_or_default())
}
