//! A running mock server: what its owner can ask of it, whatever it speaks.

use std::{fmt, future::Future, marker::PhantomData, time::Duration};

use axum::body::Body as HttpBody;
use http::Response;
use hyper::body::Incoming;
use tokio::task::JoinHandle;

use super::{
    Address, Options, StartError,
    fault_control::FaultHandle,
    gate::Gate,
    http_exchange::HttpExchange,
    response::Aborted,
    serving::{self, BoundListener, ShutdownHandle},
    socket::ListenSocket,
    tls,
};
use crate::faults::Exit;
use evidence::Recorder;

/// Marks a server of Streamable HTTP.
#[derive(Debug)]
pub enum Streamable {}

/// Marks a server of HTTP+SSE.
#[derive(Debug)]
pub enum EventStream {}

/// A running mock server. Dropping it stops it as [`Server::stop`] does, as far as the runtime goes on for that.
pub struct Server<TransportServer> {
    address: Address,
    path: String,
    certificate_pem: Option<String>,
    shutdown: ShutdownHandle,
    faults: FaultHandle,
    accepting: JoinHandle<()>,
    front: PhantomData<fn() -> TransportServer>,
}

impl<TransportServer> fmt::Debug for Server<TransportServer> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Server").field("url", &self.url()).finish_non_exhaustive()
    }
}

impl<TransportServer> Server<TransportServer> {
    /// Binds and begins to serve. The front is made when it is known how it can stop the server, and at which path its
    /// endpoint is.
    pub(crate) async fn launch<S, F>(
        options: Options,
        default_path: &str,
        recorder: Recorder,
        front: impl FnOnce(ShutdownHandle, &str) -> S,
    ) -> Result<Self, StartError>
    where
        S: Fn(HttpExchange, Incoming) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Response<HttpBody>, Aborted>> + Send + 'static,
    {
        let path = options.path.clone().unwrap_or_else(|| default_path.to_owned());
        if !path.starts_with('/') || path.contains(['?', '#', ' ']) {
            return Err(StartError::Path { path });
        }
        let (tls, certificate_pem) =
            options.tls.as_ref().map(tls::acceptor).transpose().map_err(StartError::Tls)?.unzip();
        let failed = |source| StartError::Bind { address: options.address.clone(), source };
        let (socket, address) = ListenSocket::bind(&options.address).await.map_err(failed)?;
        let shutdown = ShutdownHandle::new();
        let gate = Gate::new(&options, &address);
        let service = front(shutdown.clone(), &path);
        let limits = options.limits;
        let door = BoundListener { socket, tls, gate, limits, recorder, shutdown: shutdown.clone() };
        let accepting = tokio::spawn(serving::accept(door, service));
        let faults = shutdown.faults();
        Ok(Self { address, path, certificate_pem, shutdown, faults, accepting, front: PhantomData })
    }

    /// The URL of the endpoint: `unix:///path/of/the/socket#/mcp` for one on a Unix socket.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.certificate_pem.is_some() { "https" } else { "http" };
        match &self.address {
            Address::Tcp(address) => format!("{scheme}://{address}{}", self.path),
            Address::Unix(socket) => format!("unix://{}#{}", socket.display(), self.path),
        }
    }

    /// The path of the endpoint.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The address that the server listens on.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The certificate that a client has to trust, in PEM; none without TLS.
    #[must_use]
    pub fn certificate_pem(&self) -> Option<&str> {
        self.certificate_pem.as_deref()
    }

    /// Switches its standing faults.
    #[must_use]
    pub fn faults(&self) -> &FaultHandle {
        &self.faults
    }

    /// Returns when every client has hung up, and after this time at the latest: what a client did last is then in the
    /// record.
    pub async fn until_idle(&self, limit: Duration) {
        self.shutdown.until_idle(limit).await;
    }

    /// Returns when the server has stopped, because its script says so: an `exit` fault, say.
    pub async fn stopped(&self) {
        self.shutdown.stopped().await;
    }

    /// How the script wants the server's process to end, by an `exit` fault; none if it has not said so. The process is its
    /// owner's: [`crate::stdio::end_process`] ends it.
    #[must_use]
    pub fn exit(&self) -> Option<Exit> {
        self.shutdown.exited()
    }

    /// Stops the server in good order, and returns when every connection is closed: connections are refused from now on,
    /// streams of events end, and answers that are under way are waited for, within [`Limits::stop_time`].
    ///
    /// [`Limits::stop_time`]: super::Limits::stop_time
    pub async fn stop(mut self) {
        self.shutdown.close();
        if let Err(cause) = (&mut self.accepting).await {
            tracing::warn!(%cause, "the server's task failed");
        }
    }
}

impl<TransportServer> Drop for Server<TransportServer> {
    fn drop(&mut self) {
        self.shutdown.close();
    }
}
