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
    listen::{EventStream, Front, Options, Server, StartError, exchange::Exchange, protection::Protection},
    record::Recorder,
};

/// The path of the stream.
pub const ENDPOINT: &str = "/sse";
/// The path that messages are posted to. Where the stream's path is another, this stands behind it.
pub const MESSAGES: &str = "/messages";

/// A running mock server that speaks HTTP+SSE. Dropping it stops it.
pub type SseMock = Server<EventStream>;

impl Front for EventStream {
    async fn start_behind(
        engine: Engine,
        recorder: Recorder,
        options: Options,
        protection: Protection,
    ) -> Result<Server<Self>, StartError> {
        Server::launch(options, ENDPOINT, recorder.clone(), move |stopper, stream| {
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
