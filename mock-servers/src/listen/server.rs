//! A running mock server, independent of its transport.

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

/// A running mock server. Dropping it stops it like [`Server::stop`], as long as the runtime runs.
pub struct Server<TransportServer> {
    address: Address,
    path: String,
    certificate_pem: Option<String>,
    shutdown: ShutdownHandle,
    faults: FaultHandle,
    accepting: JoinHandle<()>,
    transport: PhantomData<fn() -> TransportServer>,
}

impl<TransportServer> fmt::Debug for Server<TransportServer> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Server").field("url", &self.url()).finish_non_exhaustive()
    }
}

impl<TransportServer> Server<TransportServer> {
    /// Binds and begins to serve. The transport is created with the shutdown handle and the path of the endpoint.
    pub(crate) async fn launch<S, F>(
        options: Options,
        default_path: &str,
        recorder: Recorder,
        transport: impl FnOnce(ShutdownHandle, &str) -> S,
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
        let service = transport(shutdown.clone(), &path);
        let Options { limits, request_log, .. } = options;
        let door = BoundListener { socket, tls, gate, limits, recorder, shutdown: shutdown.clone(), request_log };
        let accepting = tokio::spawn(serving::accept(door, service));
        let faults = shutdown.faults();
        Ok(Self { address, path, certificate_pem, shutdown, faults, accepting, transport: PhantomData })
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

    /// The certificate that clients have to trust, in PEM; `None` without TLS.
    #[must_use]
    pub fn certificate_pem(&self) -> Option<&str> {
        self.certificate_pem.as_deref()
    }

    /// The handle of its persistent faults.
    #[must_use]
    pub fn faults(&self) -> &FaultHandle {
        &self.faults
    }

    /// Waits until every client has disconnected, or for this time. The record then contains the last actions of the
    /// clients.
    pub async fn until_idle(&self, limit: Duration) {
        self.shutdown.until_idle(limit).await;
    }

    /// Waits until the script stops the server, for example by an `exit` fault.
    pub async fn stopped(&self) {
        self.shutdown.stopped().await;
    }

    /// The exit of the process that the script requires by an `exit` fault, if it has run. The owner of the process
    /// executes it with [`crate::stdio::end_process`].
    #[must_use]
    pub fn exit(&self) -> Option<Exit> {
        self.shutdown.exited()
    }

    /// Stops the server gracefully, and returns when every connection is closed: it refuses connections, ends event
    /// streams, and waits for pending responses within [`Limits::stop_time`].
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
