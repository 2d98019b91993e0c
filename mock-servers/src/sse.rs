//! HTTP+SSE of 2024-11-05: one stream for the server's messages, and an endpoint for the client's messages.

mod server_state;
mod stream;

use std::sync::Arc;

use ::http::{Method, StatusCode};
use hyper::body::Incoming;

use self::server_state::ServerState;
use crate::{
    engine::Engine,
    listen::{
        EventStream, Options, Server, StartError, TransportServer, http_exchange::HttpExchange, protection::Protection,
        response::HttpResult,
    },
};
use evidence::Recorder;

/// The path of the stream.
pub const ENDPOINT: &str = "/sse";
/// The path for posted messages, below the stream's path if that is not the default.
pub const MESSAGES: &str = "/messages";

/// A running mock server over HTTP+SSE. Dropping it stops it.
pub type SseMock = Server<EventStream>;

impl TransportServer for EventStream {
    async fn start_behind(
        engine: Engine,
        recorder: Recorder,
        options: Options,
        protection: Protection,
    ) -> Result<Server<Self>, StartError> {
        Server::launch(options, ENDPOINT, recorder.clone(), move |shutdown, stream| {
            let messages = if stream == ENDPOINT { MESSAGES.to_owned() } else { format!("{stream}{MESSAGES}") };
            let paths = Arc::new(Paths { stream: stream.to_owned(), messages: messages.clone() });
            let board = shutdown.clone();
            let server = Arc::new(ServerState::start(engine, recorder, shutdown, messages, protection.clone()));
            board.connect(&server);
            move |exchange, body| serve(Arc::clone(&server), Arc::clone(&paths), protection.clone(), exchange, body)
        })
        .await
    }
}

struct Paths {
    stream: String,
    messages: String,
}

async fn serve(
    server: Arc<ServerState>,
    paths: Arc<Paths>,
    protection: Protection,
    exchange: HttpExchange,
    body: Incoming,
) -> HttpResult {
    let (stream, messages) = (exchange.path() == paths.stream, exchange.path() == paths.messages);
    match *exchange.method() {
        Method::GET if stream => server.get(&exchange).await,
        Method::POST if messages => server.post(&exchange, body).await,
        _ if stream => Ok(exchange.allow_only("GET", StatusCode::METHOD_NOT_ALLOWED)),
        _ if messages => Ok(exchange.allow_only("POST", StatusCode::METHOD_NOT_ALLOWED)),
        _ => Ok(match protection.metadata(&exchange).await {
            Some(metadata) => metadata,
            None => {
                let Paths { stream, messages } = &*paths;
                let reason = format!("the endpoints are at {stream} and {messages}, not at {}", exchange.path());
                exchange.reject(StatusCode::NOT_FOUND, reason)
            }
        }),
    }
}
