//! Accepting connections, serving them, and stopping, with the power to drop a connection in the middle of an answer.

use std::{
    fmt,
    future::Future,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::body::Body as HttpBody;
use http::{Request, Response};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use thiserror::Error;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::watch,
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;

use super::{
    exchange::Exchange,
    gate::Gate,
    limits::{self, Limits},
    socket::{Ending, Line, Socket},
    switch::{self, FaultSwitch, Switchboard},
};
use crate::{faults::Exit, frame::Mark, record::Recorder};

/// How long what is written already may take to get out when connections are about to be dropped.
const DRAIN: Duration = Duration::from_millis(50);

/// The connection is to be dropped without an answer.
#[derive(Debug, Error)]
#[error("the script drops the connection")]
pub(crate) struct Aborted;

/// What a server tells that it is about to end: the shared state of a front.
pub(crate) trait Farewell: Send + Sync {
    /// Ends in good order what would never end by itself, and everything that has nothing more to say within this time.
    fn bid_farewell(self: Arc<Self>, patience: Duration);
}

/// The front of a server, which it does not keep alive.
struct Closing(Weak<dyn Farewell>);

impl fmt::Debug for Closing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Closing")
    }
}

/// How far a server is from its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Serving,
    /// New connections are refused; answers that are under way may still be given.
    Closing,
    /// Connections are dropped.
    Stopped,
}

/// Stops a server, at once or in good order. Also knows whether anything is still going on.
#[derive(Debug, Clone)]
pub(crate) struct Stopper(Arc<State>);

#[derive(Debug)]
struct State {
    phase: watch::Sender<Phase>,
    front: OnceLock<Closing>,
    /// Open connections, and ends of connections that are not in the record yet.
    busy: watch::Sender<usize>,
    faults: switch::Socket,
    /// How the script wants the server's process to end.
    exit: OnceLock<Exit>,
}

/// Something that goes on until this is dropped.
#[derive(Debug)]
pub(crate) struct Busy(Arc<State>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.send_modify(|busy| *busy -= 1);
    }
}

impl Stopper {
    pub(super) fn new() -> Self {
        let (phase, busy) = (watch::Sender::new(Phase::Serving), watch::Sender::new(0));
        Self(Arc::new(State {
            phase,
            front: OnceLock::new(),
            busy,
            faults: switch::Socket::default(),
            exit: OnceLock::new(),
        }))
    }

    /// Stops the server at once: it refuses new connections and drops the open ones, as one does that dies.
    pub(crate) fn stop(&self) {
        self.advance(Phase::Stopped);
    }

    /// Stops the server because its script says so, and tells its owner how the process is to end. The first word counts.
    pub(crate) fn exit(&self, exit: Exit) {
        self.0.exit.get_or_init(|| exit);
        self.stop();
    }

    /// How the script wants the process to end; none if it has not said so.
    pub(super) fn exited(&self) -> Option<Exit> {
        self.0.exit.get().cloned()
    }

    /// Stops the server in good order: what is under way comes to its end first, within a bound.
    pub(crate) fn close(&self) {
        self.advance(Phase::Closing);
    }

    /// There is no way back.
    fn advance(&self, to: Phase) {
        self.0.phase.send_if_modified(|phase| {
            let further = *phase < to;
            *phase = to.max(*phase);
            further
        });
    }

    /// Tells the server's owner who can switch its faults, and the server whom to tell of its end.
    pub(crate) fn connect<F: Switchboard + Farewell + 'static>(&self, front: &Arc<F>) {
        let board: Weak<F> = Arc::downgrade(front);
        let closing = Closing(Arc::downgrade(front) as Weak<dyn Farewell>);
        self.0.faults.connect(board);
        if self.0.front.set(closing).is_err() {
            tracing::warn!("a server has a front already");
        }
    }

    /// Lets the front take its leave.
    fn bid_farewell(&self, patience: Duration) {
        if let Some(front) = self.0.front.get().and_then(|Closing(front)| front.upgrade()) {
            front.bid_farewell(patience);
        }
    }

    /// The switch of the server's faults.
    pub(super) fn faults(&self) -> FaultSwitch {
        self.0.faults.switch()
    }

    /// Returns when the server is stopped.
    pub(super) async fn stopped(&self) {
        reached(Phase::Closing, &mut self.0.phase.subscribe()).await;
    }

    /// Whether the server is about to end in good order.
    pub(crate) fn is_closing(&self) -> bool {
        *self.0.phase.borrow() == Phase::Closing
    }

    /// What a stream that ends now ends by: the server itself if it is ending, else the client.
    pub(crate) fn end_mark(&self) -> Mark {
        if *self.0.phase.borrow() == Phase::Serving { Mark::ClosedByPeer } else { Mark::ClosedByServer }
    }

    /// Something goes on that has to be over before the record is complete.
    pub(crate) fn busy(&self) -> Busy {
        self.0.busy.send_modify(|busy| *busy += 1);
        Busy(Arc::clone(&self.0))
    }

    /// Returns when nothing goes on any more, and after this time at the latest.
    pub(super) async fn until_idle(&self, limit: Duration) {
        let mut busy = self.0.busy.subscribe();
        // The sender lives in `self`; a limit that passes is an answer like any other.
        let _ = tokio::time::timeout(limit, busy.wait_for(|busy| *busy == 0)).await;
    }
}

/// A bound socket, and everything that is the same for each of its connections.
pub(super) struct Door {
    pub(super) socket: Socket,
    pub(super) tls: Option<TlsAcceptor>,
    pub(super) gate: Gate,
    pub(super) limits: Limits,
    pub(super) recorder: Recorder,
    pub(super) stopper: Stopper,
}

/// What is the same for each connection, and what counts them.
struct Shared<S> {
    gate: Gate,
    limits: Limits,
    recorder: Recorder,
    next_exchange: AtomicU64,
    service: S,
}

/// Accepts connections until the server is stopped, and serves every exchange with this function.
pub(super) async fn accept<S, F>(door: Door, service: S)
where
    S: Fn(Exchange, Incoming) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Response<HttpBody>, Aborted>> + Send + 'static,
{
    let Door { socket, tls, gate, limits, recorder, stopper } = door;
    let shared = Arc::new(Shared { gate, limits, recorder, next_exchange: AtomicU64::new(0), service });
    let mut stop = stopper.0.phase.subscribe();
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
                let ending = Ending::new(limits.unread_bytes);
                let line = Line::new(stream, ending.clone());
                let conversation = converse(line, ending, tls.clone(), stop.clone(), Arc::clone(&shared));
                let busy = stopper.busy();
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
    if stopper.is_closing() {
        close(&mut connections, &stopper, shared.limits.stop_time).await;
    }
    while connections.join_next().await.is_some() {}
}

/// Lets what is under way come to its end for this long, then drops what is left.
async fn close(connections: &mut JoinSet<()>, stopper: &Stopper, patience: Duration) {
    stopper.bid_farewell(patience);
    let mut stop = stopper.0.phase.subscribe();
    tokio::select! {
        () = async { while connections.join_next().await.is_some() {} } => {}
        () = tokio::time::sleep(patience) => stopper.bid_farewell(Duration::ZERO),
        // A script may have the server die while it closes.
        () = reached(Phase::Stopped, &mut stop) => {}
    }
    stopper.stop();
}

/// Serves one connection, from its handshake on.
async fn converse<S, F>(
    line: Line,
    ending: Ending,
    tls: Option<TlsAcceptor>,
    mut stop: watch::Receiver<Phase>,
    shared: Arc<Shared<S>>,
) where
    S: Fn(Exchange, Incoming) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Response<HttpBody>, Aborted>> + Send + 'static,
{
    let Some(tls) = tls else { return speak(line, ending, stop, shared).await };
    let encrypted = tokio::select! {
        encrypted = tokio::time::timeout(shared.limits.head_time, tls.accept(line)) => encrypted,
        () = reached(Phase::Closing, &mut stop) => return,
    };
    match encrypted {
        Ok(Ok(line)) => speak(line, ending, stop, shared).await,
        Ok(Err(cause)) => tracing::debug!(%cause, "a TLS handshake failed"),
        Err(_) => tracing::debug!("a TLS handshake took too long"),
    }
}

/// Speaks HTTP on a connection until it ends.
async fn speak<I, S, F>(line: I, ending: Ending, mut stop: watch::Receiver<Phase>, shared: Arc<Shared<S>>)
where
    I: AsyncRead + AsyncWrite + Unpin,
    S: Fn(Exchange, Incoming) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Response<HttpBody>, Aborted>> + Send + 'static,
{
    let service = service_fn(|request| serve(Arc::clone(&shared), ending.clone(), request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        // Head and body of a small answer in one buffer cost the system less than two parts of one write.
        .writev(false)
        .header_read_timeout(shared.limits.head_time)
        .serve_connection(TokioIo::new(line), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = ending.until_cut() => return,
        () = ending.until_finish() => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                ended = connection => ended,
                () = ending.until_cut() => return,
                () = reached(Phase::Stopped, &mut stop) => return,
            }
        }
        () = reached(Phase::Closing, &mut stop) => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                ended = connection.as_mut() => ended,
                () = ending.until_cut() => return,
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
    ending: Ending,
    request: Request<Incoming>,
) -> Result<Response<HttpBody>, Aborted>
where
    S: Fn(Exchange, Incoming) -> F,
    F: Future<Output = Result<Response<HttpBody>, Aborted>>,
{
    let (head, body) = request.into_parts();
    let connection = shared.next_exchange.fetch_add(1, Ordering::Relaxed);
    let exchange = Exchange::new(connection, shared.recorder.clone(), head, ending, shared.limits.body_time);
    match shared.gate.refuses(exchange.headers()) {
        Some(status) => Ok(exchange.turn_away(status)),
        None => (shared.service)(exchange, body).await,
    }
}

/// Waits until the server is so far.
async fn reached(wanted: Phase, stop: &mut watch::Receiver<Phase>) {
    // An error means that nobody is left who could stop it otherwise, which is a stop as well.
    if stop.wait_for(|phase| *phase >= wanted).await.is_err() {
        tracing::debug!("the server has no owner left");
    }
}
