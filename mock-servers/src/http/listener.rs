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
use crate::frame::Mark;

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
    accepting: JoinHandle<()>,
}

/// Stops a server: it refuses new connections and drops the open ones. Also knows whether anything is still going on.
#[derive(Debug, Clone)]
pub(crate) struct Stopper(Arc<State>);

#[derive(Debug)]
struct State {
    stopped: watch::Sender<bool>,
    /// Open connections, and ends of connections that are not in the record yet.
    busy: watch::Sender<usize>,
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
    fn new() -> Self {
        Self(Arc::new(State { stopped: watch::Sender::new(false), busy: watch::Sender::new(0) }))
    }

    pub(crate) fn stop(&self) {
        self.0.stopped.send_replace(true);
    }

    /// What a stream that ends now ends by: the server itself if it is ending, else the client.
    pub(crate) fn end_mark(&self) -> Mark {
        if *self.0.stopped.borrow() { Mark::ClosedByServer } else { Mark::ClosedByPeer }
    }

    /// Something goes on that has to be over before the record is complete.
    pub(crate) fn busy(&self) -> Busy {
        self.0.busy.send_modify(|busy| *busy += 1);
        Busy(Arc::clone(&self.0))
    }
}

/// Binds a port that the system chooses.
pub(crate) async fn bind() -> Result<Bound, StartError> {
    let socket = TcpListener::bind(("127.0.0.1", 0)).await.map_err(StartError::Bind)?;
    let address = socket.local_addr().map_err(StartError::Bind)?;
    Ok(Bound { socket, address, stop: Stopper::new() })
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
        let accepting = tokio::spawn(accept(self.socket, self.stop.clone(), service));
        Listener { address: self.address, stop: self.stop, accepting }
    }
}

impl Listener {
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns when no connection is open and all ends are recorded, and after this time at the latest.
    pub(crate) async fn until_idle(&self, limit: Duration) {
        let mut busy = self.stop.0.busy.subscribe();
        // The sender lives in `self`; a limit that passes is an answer like any other.
        let _ = tokio::time::timeout(limit, busy.wait_for(|busy| *busy == 0)).await;
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

async fn accept<S, F>(socket: TcpListener, stopper: Stopper, service: S)
where
    S: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Result<Response<HttpBody>, Aborted>> + Send + 'static,
{
    let mut stop = stopper.0.stopped.subscribe();
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = socket.accept() => accepted,
            Some(_) = connections.join_next() => continue,
            () = stopped(&mut stop) => break,
        };
        match accepted {
            Ok((stream, _)) => {
                let (busy, conversation) = (stopper.busy(), converse(stream, stop.clone(), service.clone()));
                connections.spawn(async move {
                    conversation.await;
                    drop(busy);
                });
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
