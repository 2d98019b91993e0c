//! The Streamable HTTP front: handshake revisions with sessions, 2026-07-28 without, or both on one endpoint.
//!
//! It owns envelopes: status codes, headers, sessions and streams. What the messages say is the engine's business. A
//! request is answered with one JSON object when its answer is all that is said, and with an event stream as soon as
//! something else comes first.

mod exchange;
mod hub;
pub(crate) mod listener;
mod post;
pub(crate) mod responder;
mod sessions;
mod validate;
pub(crate) mod wire;

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use ::http::{Method, Request, Response, StatusCode};
use axum::body::Body as HttpBody;
use hyper::body::Incoming;
use thiserror::Error;

use self::{
    hub::Hub,
    listener::{Aborted, Listener},
};
use crate::{engine::Engine, record::Recorder, script::Script};

/// The path of the MCP endpoint.
pub const ENDPOINT: &str = "/mcp";

/// Why a server could not be started.
#[derive(Debug, Error)]
pub enum StartError {
    /// No port could be bound.
    #[error("could not listen on 127.0.0.1")]
    Bind(#[source] io::Error),
}

/// A running mock server. Dropping it stops it.
#[derive(Debug)]
pub struct HttpMock {
    listener: Listener,
}

impl HttpMock {
    /// Starts a server on a port that the system chooses.
    ///
    /// # Errors
    /// When no port can be bound.
    pub async fn start(script: Script, revision: &str, seed: u64, recorder: Recorder) -> Result<Self, StartError> {
        let bound = listener::bind().await?;
        let hub = Arc::new(Hub::new(Engine::new(script, revision, seed), recorder, bound.stopper()));
        let listener = bound.serve(move |request| serve(Arc::clone(&hub), request));
        Ok(Self { listener })
    }

    /// The URL of the MCP endpoint.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}{ENDPOINT}", self.address())
    }

    /// The address that the server listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// Returns when every client has hung up, and after this time at the latest: what a client did last is then in the
    /// record.
    pub async fn until_idle(&self, limit: Duration) {
        self.listener.until_idle(limit).await;
    }

    /// Stops the server, and returns when every connection is closed.
    pub async fn stop(self) {
        self.listener.stop().await;
    }
}

/// Serves one HTTP exchange.
async fn serve(hub: Arc<Hub>, request: Request<Incoming>) -> Result<Response<HttpBody>, Aborted> {
    let (head, body) = request.into_parts();
    let exchange = hub.open(&head);
    if let Some(status) = wire::foreign(&head.headers) {
        exchange.receive_unread();
        return Ok(exchange.refuse(status));
    }
    if head.uri.path() != ENDPOINT {
        exchange.receive_unread();
        return Ok(exchange.refuse(StatusCode::NOT_FOUND));
    }
    match head.method {
        Method::POST => post::serve(hub, exchange, body).await,
        Method::GET | Method::DELETE if hub.has_sessions() => {
            exchange.receive_unread();
            sessions::serve(hub, exchange).await
        }
        _ => {
            exchange.receive_unread();
            Ok(exchange.refuse(StatusCode::METHOD_NOT_ALLOWED))
        }
    }
}
