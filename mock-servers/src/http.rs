//! The Streamable HTTP front: handshake revisions with sessions, 2026-07-28 without, or both on one endpoint.
//!
//! It owns envelopes: status codes, headers, sessions and streams. What the messages say is the engine's business. A
//! request is answered with one JSON object when its answer is all that is said, and with an event stream as soon as
//! something else comes first.

mod hub;
mod post;
pub(crate) mod responder;
mod sessions;
mod shaped;
mod validate;
pub(crate) mod wire;

use std::sync::Arc;

use ::http::{Method, StatusCode};
use hyper::body::Incoming;

use self::{hub::Hub, responder::Verdict};
pub use crate::listen::StartError;
use crate::{
    engine::Engine,
    listen::{Options, Server, Streamable, exchange::Exchange},
    record::Recorder,
    script::Script,
};

/// The path of the MCP endpoint.
pub const ENDPOINT: &str = "/mcp";

/// A running mock server that speaks Streamable HTTP. Dropping it stops it.
pub type HttpMock = Server<Streamable>;

impl Server<Streamable> {
    /// Starts a server on a port of 127.0.0.1 that the system chooses.
    ///
    /// # Errors
    /// When no port can be bound.
    pub async fn start(script: Script, revision: &str, seed: u64, recorder: Recorder) -> Result<Self, StartError> {
        Self::start_with(script, revision, seed, recorder, Options::default()).await
    }

    /// Starts a server that listens as these options say.
    ///
    /// # Errors
    /// When the address cannot be bound, or the path or the certificate cannot be used.
    pub async fn start_with(
        script: Script,
        revision: &str,
        seed: u64,
        recorder: Recorder,
        options: Options,
    ) -> Result<Self, StartError> {
        let engine = Engine::new(script, revision, seed);
        Self::launch(options, ENDPOINT, recorder.clone(), move |stopper, path| {
            let (hub, path) = (Arc::new(Hub::new(engine, recorder, stopper)), Arc::<str>::from(path));
            move |exchange, body| serve(Arc::clone(&hub), Arc::clone(&path), exchange, body)
        })
        .await
    }
}

/// Serves one HTTP exchange.
async fn serve(hub: Arc<Hub>, path: Arc<str>, exchange: Exchange, body: Incoming) -> Verdict {
    if exchange.path() != &*path {
        return Ok(exchange.turn_away(StatusCode::NOT_FOUND));
    }
    match *exchange.method() {
        Method::POST => post::serve(hub, exchange, body).await,
        Method::GET | Method::DELETE if hub.has_sessions() => {
            exchange.receive_unread();
            sessions::serve(hub, exchange).await
        }
        _ => Ok(exchange.turn_away(StatusCode::METHOD_NOT_ALLOWED)),
    }
}
