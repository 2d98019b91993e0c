//! Listening, accepting and stopping, with the power to drop a connection in the middle of an answer.

use std::{future::Future, net::SocketAddr, sync::Arc, time::Duration};

use axum::body::Body as HttpBody;
use http::{Request, Response};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use thiserror::Error;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::{JoinHandle, JoinSet},
};

use super::StartError;

/// How long an answer that is under way may take when the server is stopped.
const DRAIN: Duration = Duration::from_millis(50);

/// The connection is to be dropped without an answer.
#[derive(Debug, Error)]
#[error("the script drops the connection")]
pub(crate) struct Aborted;

/// A port that nobody serves yet.
pub(crate) struct Bound {
    socket: TcpListener,
    address: SocketAddr,
    stop: Stopper,
}

/// A server at work. Dropping it stops it.
#[derive(Debug)]
pub(crate) struct Listener {
    address: SocketAddr,
    stop: Stopper,
    /// How many connections are open.
    open: Arc<watch::Sender<usize>>,
    accepting: JoinHandle<()>,
}

/// Stops a server: it refuses new connections and drops the open ones.
#[derive(Debug, Clone)]
pub(crate) struct Stopper(Arc<watch::Sender<bool>>);

impl Stopper {
    pub(crate) fn stop(&self) {
        self.0.send_replace(true);
    }

    /// Whether the server itself is ending, so that a stream's end is its own doing.
    pub(crate) fn is_stopped(&self) -> bool {
        *self.0.borrow()
    }
}

/// Binds a port that the system chooses.
pub(crate) async fn bind() -> Result<Bound, StartError> {
    let socket = TcpListener::bind(("127.0.0.1", 0)).await.map_err(StartError::Bind)?;
    let address = socket.local_addr().map_err(StartError::Bind)?;
    Ok(Bound { socket, address, stop: Stopper(Arc::new(watch::Sender::new(false))) })
}

impl Bound {
    pub(crate) fn stopper(&self) -> Stopper {
        self.stop.clone()
    }

    /// Serves every request with this function.
    pub(crate) fn serve<S, F>(self, service: S) -> Listener
    where
        S: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Result<Response<HttpBody>, Aborted>> + Send + 'static,
    {
        let open = Arc::new(watch::Sender::new(0));
        let accepting = tokio::spawn(accept(self.socket, self.stop.0.subscribe(), Arc::clone(&open), service));
        Listener { address: self.address, stop: self.stop, open, accepting }
    }
}

impl Listener {
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns when no connection is open, and after this time at the latest.
    pub(crate) async fn until_idle(&self, limit: Duration) {
        let mut open = self.open.subscribe();
        // The sender lives in `self`; a limit that passes is an answer like any other.
        let _ = tokio::time::timeout(limit, open.wait_for(|open| *open == 0)).await;
    }

    pub(crate) async fn stop(mut self) {
        self.stop.stop();
        if let Err(cause) = (&mut self.accepting).await {
            tracing::warn!(%cause, "the server's task failed");
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop.stop();
    }
}

async fn accept<S, F>(socket: TcpListener, mut stop: watch::Receiver<bool>, open: Arc<watch::Sender<usize>>, service: S)
where
    S: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Result<Response<HttpBody>, Aborted>> + Send + 'static,
{
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = socket.accept() => accepted,
            Some(_) = connections.join_next() => {
                open.send_replace(connections.len());
                continue;
            }
            () = stopped(&mut stop) => break,
        };
        match accepted {
            Ok((stream, _)) => {
                connections.spawn(converse(stream, stop.clone(), service.clone()));
                open.send_replace(connections.len());
            }
            Err(cause) => tracing::warn!(%cause, "could not accept a connection"),
        }
    }
    // From here on the system refuses connections.
    drop(socket);
    while connections.join_next().await.is_some() {}
}

async fn converse<S, F>(stream: TcpStream, mut stop: watch::Receiver<bool>, service: S)
where
    S: Fn(Request<Incoming>) -> F,
    F: Future<Output = Result<Response<HttpBody>, Aborted>> + Send + 'static,
{
    // Small messages must not wait for each other's acknowledgement.
    if let Err(cause) = stream.set_nodelay(true) {
        tracing::debug!(%cause, "no TCP_NODELAY");
    }
    let connection =
        http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service_fn(service));
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stopped(&mut stop) => {
            connection.as_mut().graceful_shutdown();
            tokio::time::timeout(DRAIN, connection).await.unwrap_or(Ok(()))
        }
    };
    if let Err(cause) = ended {
        tracing::debug!(%cause, "a connection ended early");
    }
}

/// Waits until the server is to stop.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    // An error means that nobody is left who could stop it otherwise, which is a stop as well.
    if stop.wait_for(|stopped| *stopped).await.is_err() {
        tracing::debug!("the server has no owner left");
    }
}
