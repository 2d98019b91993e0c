//! The HTTP+SSE front of 2024-11-05: one stream for everything that the server says, and a second endpoint for what
//! the client says.

mod hub;
mod stream;

use std::sync::Arc;

use ::http::{Method, StatusCode};
use hyper::body::Incoming;

use self::hub::Hub;
use crate::{
    engine::Engine,
    http::responder::Verdict,
    listen::{EventStream, Options, Server, StartError, exchange::Exchange, protection::Protection},
    oauth::OAuthMock,
    record::Recorder,
    script::Script,
};

/// The path of the stream.
pub const ENDPOINT: &str = "/sse";
/// The path that messages are posted to. Where the stream's path is another, this stands behind it.
pub const MESSAGES: &str = "/messages";

/// A running mock server that speaks HTTP+SSE. Dropping it stops it.
pub type SseMock = Server<EventStream>;

impl Server<EventStream> {
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

    /// Starts a server that lets requests with a token of this authorization server pass and challenges the others: those
    /// for the stream and those with messages. It serves the metadata of the resource that it is (RFC 9728).
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
        Self::launch(options, ENDPOINT, recorder.clone(), move |stopper, stream| {
            let messages = if stream == ENDPOINT { MESSAGES.to_owned() } else { format!("{stream}{MESSAGES}") };
            let paths = Arc::new(Paths { stream: stream.to_owned(), messages: messages.clone() });
            let board = stopper.clone();
            let hub = Arc::new(Hub::new(engine, recorder, stopper, messages, protection.clone()));
            board.connect(&hub);
            move |exchange, body| serve(Arc::clone(&hub), Arc::clone(&paths), protection.clone(), exchange, body)
        })
        .await
    }
}

/// Where what is served.
struct Paths {
    stream: String,
    messages: String,
}

async fn serve(
    hub: Arc<Hub>,
    paths: Arc<Paths>,
    protection: Protection,
    exchange: Exchange,
    body: Incoming,
) -> Verdict {
    let (stream, messages) = (exchange.path() == paths.stream, exchange.path() == paths.messages);
    match *exchange.method() {
        Method::GET if stream => hub.get(&exchange).await,
        Method::POST if messages => hub.post(&exchange, body).await,
        _ if stream => Ok(exchange.allow_only("GET")),
        _ if messages => Ok(exchange.allow_only("POST")),
        _ => Ok(match protection.metadata(&exchange).await {
            Some(metadata) => metadata,
            None => exchange.turn_away(StatusCode::NOT_FOUND),
        }),
    }
}
