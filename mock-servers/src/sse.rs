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
    listen::{EventStream, Options, Server, StartError, exchange::Exchange},
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
        let engine = Engine::new(script, revision, seed);
        Self::launch(options, ENDPOINT, recorder.clone(), move |stopper, stream| {
            let messages = if stream == ENDPOINT { MESSAGES.to_owned() } else { format!("{stream}{MESSAGES}") };
            let paths = Arc::new(Paths { stream: stream.to_owned(), messages: messages.clone() });
            let board = stopper.clone();
            let hub = Arc::new(Hub::new(engine, recorder, stopper, messages));
            board.connect(&hub);
            move |exchange, body| serve(Arc::clone(&hub), Arc::clone(&paths), exchange, body)
        })
        .await
    }
}

/// Where what is served.
struct Paths {
    stream: String,
    messages: String,
}

async fn serve(hub: Arc<Hub>, paths: Arc<Paths>, exchange: Exchange, body: Incoming) -> Verdict {
    let (stream, messages) = (exchange.path() == paths.stream, exchange.path() == paths.messages);
    match *exchange.method() {
        Method::GET if stream => hub.open(&exchange).await,
        Method::POST if messages => hub.post(&exchange, body).await,
        _ if stream => Ok(exchange.allow_only("GET")),
        _ if messages => Ok(exchange.allow_only("POST")),
        _ => Ok(exchange.turn_away(StatusCode::NOT_FOUND)),
    }
}
