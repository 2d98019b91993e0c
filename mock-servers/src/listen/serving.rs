//! Accepting and serving connections, and shutdown, with the ability to drop a connection in the middle of a response.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::body::Body as HttpBody;
use http::{HeaderValue, Request, Response, Uri, header};
use hyper::{
    body::Incoming,
    server::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::watch,
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;

use super::{
    fault_control::{self, FaultControl, FaultHandle},
    gate::Gate,
    http_exchange::HttpExchange,
    limits::{self, Limits},
    request_log::RequestLog,
    response::Aborted,
    socket::{AcceptedConnection, CloseMode, ListenSocket},
};
use crate::faults::Exit;
use evidence::{ConnectionEvent, Recorder};

/// Grace period of written bytes before connections are dropped.
const DRAIN: Duration = Duration::from_millis(50);

/// The shared state of a transport, which is notified of a shutdown.
pub(crate) trait GracefulShutdown: Send + Sync {
    /// Ends streams that would stay open, and everything without pending messages within this time.
    fn begin_shutdown(self: Arc<Self>, grace_period: Duration);
}

/// The shared state of the transport. The slot does not keep it alive.
struct Closing(Weak<dyn GracefulShutdown>);

impl fmt::Debug for Closing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Closing")
    }
}

/// Phase of a server's shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Serving,
    /// New connections are refused; pending responses may still be sent.
    Closing,
    /// Connections are dropped.
    Stopped,
}

/// Stops a server, at once or gracefully, and tracks its open activities.
#[derive(Debug, Clone)]
pub(crate) struct ShutdownHandle(Arc<State>);

#[derive(Debug)]
struct State {
    phase: watch::Sender<Phase>,
    transport: OnceLock<Closing>,
    /// Open connections, and closed connections that are not recorded yet.
    busy: watch::Sender<usize>,
    faults: fault_control::FaultControlSlot,
    /// The exit of the process that the script requires.
    exit: OnceLock<Exit>,
}

/// An activity that lasts until this is dropped.
#[derive(Debug)]
pub(crate) struct ActivityGuard(Arc<State>);

impl Drop for ActivityGuard {
    fn drop(&mut self) {
        self.0.busy.send_modify(|busy| *busy -= 1);
    }
}

impl ShutdownHandle {
    pub(super) fn new() -> Self {
        let (phase, busy) = (watch::Sender::new(Phase::Serving), watch::Sender::new(0));
        Self(Arc::new(State {
            phase,
            transport: OnceLock::new(),
            busy,
            faults: fault_control::FaultControlSlot::default(),
            exit: OnceLock::new(),
        }))
    }

    /// Stops the server at once: it refuses new connections and drops the open ones, like a process that is killed.
    pub(crate) fn stop(&self) {
        self.advance(Phase::Stopped);
    }

    /// Stops the server because of its script, with the exit of the process. The first one counts.
    pub(crate) fn exit(&self, exit: Exit) {
        self.0.exit.get_or_init(|| exit);
        self.stop();
    }

    /// The exit of the process that the script requires, if it has stopped the server.
    pub(super) fn exited(&self) -> Option<Exit> {
        self.0.exit.get().cloned()
    }

    /// Stops the server gracefully: pending responses are sent first, within a limit.
    pub(crate) fn close(&self) {
        self.advance(Phase::Closing);
    }

    /// Phases only advance.
    fn advance(&self, to: Phase) {
        self.0.phase.send_if_modified(|phase| {
            let further = *phase < to;
            *phase = to.max(*phase);
            further
        });
    }

    /// Connects the shared state of the transport, for fault control and shutdown.
    pub(crate) fn connect<F: FaultControl + GracefulShutdown + 'static>(&self, transport: &Arc<F>) {
        let board: Weak<F> = Arc::downgrade(transport);
        let closing = Closing(Arc::downgrade(transport) as Weak<dyn GracefulShutdown>);
        self.0.faults.connect(board);
        if self.0.transport.set(closing).is_err() {
            tracing::warn!("a server has a front already");
        }
    }

    /// Notifies the transport of the shutdown.
    fn begin_shutdown(&self, grace_period: Duration) {
        if let Some(transport) = self.0.transport.get().and_then(|Closing(transport)| transport.upgrade()) {
            transport.begin_shutdown(grace_period);
        }
    }

    /// The handle of the server's faults.
    pub(super) fn faults(&self) -> FaultHandle {
        self.0.faults.switch()
    }

    /// Returns when the server is stopped.
    pub(super) async fn stopped(&self) {
        reached(Phase::Closing, &mut self.0.phase.subscribe()).await;
    }

    /// Whether a graceful shutdown has begun.
    pub(crate) fn is_closing(&self) -> bool {
        *self.0.phase.borrow() == Phase::Closing
    }

    /// The side that closes a stream now: the server during its shutdown, else the client.
    pub(crate) fn close_event(&self) -> ConnectionEvent {
        if *self.0.phase.borrow() == Phase::Serving {
            ConnectionEvent::ClosedByPeer
        } else {
            ConnectionEvent::ClosedByServer
        }
    }

    /// Begins an activity that has to end before the record is complete.
    pub(crate) fn busy(&self) -> ActivityGuard {
        self.0.busy.send_modify(|busy| *busy += 1);
        ActivityGuard(Arc::clone(&self.0))
    }

    /// Waits until all activities have ended, or for this time.
    pub(super) async fn until_idle(&self, limit: Duration) {
        let mut busy = self.0.busy.subscribe();
        // The sender is in `self`, and a timeout is an expected result.
        let _ = tokio::time::timeout(limit, busy.wait_for(|busy| *busy == 0)).await;
    }
}

/// A bound socket, and the shared part of its connections.
pub(super) struct BoundListener {
    pub(super) socket: ListenSocket,
    pub(super) tls: Option<TlsAcceptor>,
    pub(super) gate: Gate,
    pub(super) limits: Limits,
    pub(super) recorder: Recorder,
    pub(super) shutdown: ShutdownHandle,
    pub(super) request_log: Option<RequestLog>,
}

/// The shared part of all connections.
struct Shared<S> {
    gate: Gate,
    limits: Limits,
    recorder: Recorder,
    request_log: Option<RequestLog>,
    next_exchange: AtomicU64,
    service: S,
}

/// Accepts connections until the server is stopped, and serves each exchange with this function.
pub(super) async fn accept<S, F>(door: BoundListener, service: S)
where
    S: Fn(HttpExchange, Incoming) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Response<HttpBody>, Aborted>> + Send + 'static,
{
    let BoundListener { socket, tls, gate, limits, recorder, shutdown, request_log } = door;
    let shared = Arc::new(Shared { gate, limits, recorder, request_log, next_exchange: AtomicU64::new(0), service });
    let mut stop = shutdown.0.phase.subscribe();
    let mut connections = JoinSet::new();
    let mut failures = 0;
    loop {
        let accepted = tokio::select! {
            accepted = socket.accept() => accepted,
            Some(_) = connections.join_next() => continue,
            () = reached(Phase::Closing, &mut stop) => break,
        };
        match accepted {
            Ok(stream) => {
                failures = 0;
                let close_mode = CloseMode::new(limits.unread_bytes);
                let line = AcceptedConnection::new(stream, close_mode.clone());
                let conversation = converse(line, close_mode, tls.clone(), stop.clone(), Arc::clone(&shared));
                let busy = shutdown.busy();
                connections.spawn(async move {
                    conversation.await;
                    drop(busy);
                });
            }
            Err(cause) => {
                tracing::warn!(%cause, "could not accept a connection");
                tokio::select! {
                    () = tokio::time::sleep(limits::pause_after(failures)) => failures += 1,
                    () = reached(Phase::Closing, &mut stop) => break,
                }
            }
        }
    }
    // From here on the system refuses connections.
    drop(socket);
    if shutdown.is_closing() {
        close(&mut connections, &shutdown, shared.limits.stop_time).await;
    }
    while connections.join_next().await.is_some() {}
}

/// Waits this long for pending responses, then drops the remaining connections.
async fn close(connections: &mut JoinSet<()>, shutdown: &ShutdownHandle, grace_period: Duration) {
    shutdown.begin_shutdown(grace_period);
    let mut stop = shutdown.0.phase.subscribe();
    tokio::select! {
        () = async { while connections.join_next().await.is_some() {} } => {}
        () = tokio::time::sleep(grace_period) => shutdown.begin_shutdown(Duration::ZERO),
        // A script can stop the server during the shutdown.
        () = reached(Phase::Stopped, &mut stop) => {}
    }
    shutdown.stop();
}

/// Serves one connection, from its handshake on.
async fn converse<S, F>(
    line: AcceptedConnection,
    close_mode: CloseMode,
    tls: Option<TlsAcceptor>,
    mut stop: watch::Receiver<Phase>,
    shared: Arc<Shared<S>>,
) where
    S: Fn(HttpExchange, Incoming) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Response<HttpBody>, Aborted>> + Send + 'static,
{
    let Some(tls) = tls else {
        let is_http2 = tokio::select! {
            is_http2 = tokio::time::timeout(shared.limits.head_time, line.starts_http2()) => is_http2,
            () = reached(Phase::Closing, &mut stop) => return,
        };
        return match is_http2 {
            Ok(false) => speak(line, close_mode, stop, shared).await,
            Ok(true) => speak_http2(line, close_mode, stop, shared).await,
            Err(_) => tracing::debug!("a connection sent nothing"),
        };
    };
    let encrypted = tokio::select! {
        encrypted = tokio::time::timeout(shared.limits.head_time, tls.accept(line)) => encrypted,
        () = reached(Phase::Closing, &mut stop) => return,
    };
    match encrypted {
        Ok(Ok(line)) => speak(line, close_mode, stop, shared).await,
        Ok(Err(cause)) => tracing::debug!(%cause, "a TLS handshake failed"),
        Err(_) => tracing::debug!("a TLS handshake took too long"),
    }
}

/// Serves HTTP/1.1 on a connection until it is closed.
async fn speak<I, S, F>(line: I, close_mode: CloseMode, stop: watch::Receiver<Phase>, shared: Arc<Shared<S>>)
where
    I: AsyncRead + AsyncWrite + Unpin,
    S: Fn(HttpExchange, Incoming) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Response<HttpBody>, Aborted>> + Send + 'static,
{
    let service = service_fn(|request| serve(Arc::clone(&shared), close_mode.clone(), request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        // Head and body of a small response in one buffer cost less than two parts of one write.
        .writev(false)
        .header_read_timeout(shared.limits.head_time)
        .serve_connection(TokioIo::new(line), service);
    until_closed(connection, http1::Connection::graceful_shutdown, &close_mode, stop).await;
}

/// Serves HTTP/2 with prior knowledge (RFC 9113, 3.3) on a connection until it is closed.
async fn speak_http2<S, F>(
    line: AcceptedConnection,
    close_mode: CloseMode,
    stop: watch::Receiver<Phase>,
    shared: Arc<Shared<S>>,
) where
    S: Fn(HttpExchange, Incoming) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Response<HttpBody>, Aborted>> + Send + 'static,
{
    let service = service_fn(|request| serve(Arc::clone(&shared), close_mode.clone(), with_host(request)));
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        // A client that sends nothing and does not respond to a ping is gone.
        .keep_alive_interval(shared.limits.head_time)
        .keep_alive_timeout(shared.limits.head_time)
        .serve_connection(TokioIo::new(line), service);
    until_closed(connection, http2::Connection::graceful_shutdown, &close_mode, stop).await;
}

/// The request as it arrives over HTTP/1.1: the authority as a header, and a path as the target.
fn with_host(mut request: Request<Incoming>) -> Request<Incoming> {
    let uri = std::mem::take(request.uri_mut());
    if let Some(host) = uri.authority().and_then(|host| HeaderValue::from_str(host.as_str()).ok()) {
        request.headers_mut().entry(header::HOST).or_insert(host);
    }
    *request.uri_mut() = uri.into_parts().path_and_query.map(Uri::from).unwrap_or_default();
    request
}

/// Polls a connection until it is closed. `shut_down` closes it after its pending responses.
async fn until_closed<C: Future<Output = hyper::Result<()>>>(
    connection: C,
    shut_down: impl Fn(Pin<&mut C>),
    close_mode: &CloseMode,
    mut stop: watch::Receiver<Phase>,
) {
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = close_mode.until_cut() => return,
        () = close_mode.until_finish() => {
            shut_down(connection.as_mut());
            tokio::select! {
                ended = connection => ended,
                () = close_mode.until_cut() => return,
                () = reached(Phase::Stopped, &mut stop) => return,
            }
        }
        () = reached(Phase::Closing, &mut stop) => {
            shut_down(connection.as_mut());
            tokio::select! {
                ended = connection.as_mut() => ended,
                () = close_mode.until_cut() => return,
                () = reached(Phase::Stopped, &mut stop) => {
                    tokio::time::timeout(DRAIN, connection).await.unwrap_or(Ok(()))
                }
            }
        }
    };
    if let Err(cause) = ended {
        tracing::debug!(%cause, "a connection ended early");
    }
}

/// Serves one exchange.
async fn serve<S, F>(
    shared: Arc<Shared<S>>,
    close_mode: CloseMode,
    request: Request<Incoming>,
) -> Result<Response<HttpBody>, Aborted>
where
    S: Fn(HttpExchange, Incoming) -> F,
    F: Future<Output = Result<Response<HttpBody>, Aborted>>,
{
    let (head, body) = request.into_parts();
    let connection = shared.next_exchange.fetch_add(1, Ordering::Relaxed);
    if shared.recorder.is_exhausted() {
        return Err(Aborted);
    }
    let entry = shared.request_log.as_ref().map(|log| log.begin(&head));
    let message = entry.as_ref().map(|entry| entry.message.clone());
    let exchange =
        HttpExchange::new(connection, shared.recorder.clone(), head, close_mode, shared.limits.body_time, message);
    let result = match shared.gate.refuses(exchange.headers()) {
        Some((status, reason)) => Ok(exchange.reject(status, reason)),
        None => (shared.service)(exchange, body).await,
    };
    match entry {
        Some(entry) => entry.finish(result).await,
        None => result,
    }
}

/// Waits until the server is in this phase.
async fn reached(wanted: Phase, stop: &mut watch::Receiver<Phase>) {
    // An error means that the server has no owner, which stops it as well.
    if stop.wait_for(|phase| *phase >= wanted).await.is_err() {
        tracing::debug!("the server has no owner left");
    }
}
