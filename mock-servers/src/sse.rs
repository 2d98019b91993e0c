//! The HTTP+SSE front of 2024-11-05: one stream for everything that the server says, and a second endpoint for what
//! the client says.

mod hub;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use ::http::{Method, Request, Response, StatusCode};
use axum::body::Body as HttpBody;
use hyper::body::Incoming;

use self::hub::Hub;
use crate::{
    engine::Engine,
    http::{
        StartError,
        listener::{self, Aborted, Listener},
        wire,
    },
    record::Recorder,
    script::Script,
};

/// The path of the stream.
pub const ENDPOINT: &str = "/sse";
/// The path that messages are posted to.
pub const MESSAGES: &str = "/messages";

/// A running mock server. Dropping it stops it.
#[derive(Debug)]
pub struct SseMock {
    listener: Listener,
}

impl SseMock {
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

    /// The URL of the stream.
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

async fn serve(hub: Arc<Hub>, request: Request<Incoming>) -> Result<Response<HttpBody>, Aborted> {
    let (head, body) = request.into_parts();
    let connection = hub.next_connection();
    match (&head.method, head.uri.path()) {
        _ if wire::foreign(&head.headers).is_some() => Ok(hub.refuse(connection, &head, StatusCode::FORBIDDEN)),
        (&Method::GET, ENDPOINT) => Ok(hub.open(connection, &head)),
        (&Method::POST, MESSAGES) => hub.post(connection, &head, body).await,
        (_, ENDPOINT | MESSAGES) => Ok(hub.refuse(connection, &head, StatusCode::METHOD_NOT_ALLOWED)),
        _ => Ok(hub.refuse(connection, &head, StatusCode::NOT_FOUND)),
    }
}
