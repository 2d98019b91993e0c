//! The Streamable HTTP front: handshake revisions with sessions, 2026-07-28 without, or both on one endpoint.
//!
//! It owns envelopes: status codes, headers, sessions and streams. What the messages say is the engine's business. A
//! request is answered with one JSON object when its answer is all that is said, and with an event stream as soon as
//! something else comes first.

mod farewell;
mod hub;
mod plain;
mod post;
pub(crate) mod responder;
mod roster;
mod sessions;
mod shaped;
mod stream;
mod switch;
mod validate;
pub(crate) mod wire;

use std::sync::Arc;

use ::http::{Method, StatusCode};
use hyper::body::Incoming;

use self::{hub::Hub, responder::Verdict};
pub use crate::listen::StartError;
use crate::{
    engine::Engine,
    listen::{Options, Server, Streamable, exchange::Exchange, protection::Protection},
    oauth::OAuthMock,
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
        Self::start_open(Engine::new(script, revision, seed), recorder, options).await
    }

    /// Starts a server that lets requests with a token of this authorization server pass and challenges the others. It
    /// serves the metadata of the resource that it is (RFC 9728).
    ///
    /// # Errors
    /// When the address cannot be bound, or the path or the certificate cannot be used.
    pub async fn start_protected(
        script: Script,
        revision: &str,
        seed: u64,
        recorder: Recorder,
        options: Options,
        authority: &OAuthMock,
    ) -> Result<Self, StartError> {
        Self::start_guarded(Engine::new(script, revision, seed), recorder, options, authority).await
    }

    pub(crate) async fn start_open(engine: Engine, recorder: Recorder, options: Options) -> Result<Self, StartError> {
        Self::start_behind(engine, recorder, options, Protection::Open).await
    }

    pub(crate) async fn start_guarded(
        engine: Engine,
        recorder: Recorder,
        options: Options,
        authority: &OAuthMock,
    ) -> Result<Self, StartError> {
        let protection = Protection::guarded();
        let server = Self::start_behind(engine, recorder, options, protection.clone()).await?;
        protection.complete(authority.guard(&server.url()));
        Ok(server)
    }

    async fn start_behind(
        engine: Engine,
        recorder: Recorder,
        options: Options,
        protection: Protection,
    ) -> Result<Self, StartError> {
        let sessions = options.limits.sessions;
        Self::launch(options, ENDPOINT, recorder.clone(), move |stopper, path| {
            let board = stopper.clone();
            let (hub, path) = (Arc::new(Hub::new(engine, recorder, stopper, sessions)), Arc::<str>::from(path));
            board.connect(&hub);
            move |exchange, body| serve(Arc::clone(&hub), Arc::clone(&path), protection.clone(), exchange, body)
        })
        .await
    }
}

/// Serves one HTTP exchange.
async fn serve(hub: Arc<Hub>, path: Arc<str>, protection: Protection, exchange: Exchange, body: Incoming) -> Verdict {
    if exchange.path() != &*path {
        return Ok(match protection.metadata(&exchange).await {
            Some(metadata) => metadata,
            None => exchange.turn_away(StatusCode::NOT_FOUND),
        });
    }
    match *exchange.method() {
        Method::POST => post::serve(hub, protection, exchange, body).await,
        Method::GET | Method::DELETE if hub.has_sessions() => {
            exchange.receive_unread();
            match protection.refuses(&exchange, None) {
                Some(refusal) => Ok(refusal),
                None => sessions::serve(hub, exchange).await,
            }
        }
        _ if hub.has_sessions() => Ok(exchange.allow_only("GET, POST, DELETE")),
        _ => Ok(exchange.allow_only("POST")),
    }
}
