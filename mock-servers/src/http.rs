//! Streamable HTTP: handshake revisions with sessions, 2026-07-28 without, or both on one endpoint.
//!
//! This module owns status codes, headers, sessions and streams; the engine owns the messages. A response without other
//! messages is one JSON object; otherwise it is an event stream.

mod fast_path;
mod faulty_response;
mod post;
mod responder;
mod server_state;
mod session_table;
mod sessions;
mod stream;
mod validate;

use std::sync::Arc;

use ::http::{Method, StatusCode};
use hyper::body::Incoming;

use self::server_state::ServerState;
pub use crate::listen::StartError;
use crate::{
    engine::Engine,
    listen::{
        Options, Server, Streamable, TransportServer, http_exchange::HttpExchange, protection::Protection,
        response::HttpResult,
    },
    script::InvalidRequest,
};
use evidence::Recorder;

/// The path of the MCP endpoint.
pub const ENDPOINT: &str = "/mcp";

/// A running mock server over Streamable HTTP. Dropping it stops it.
pub type HttpMock = Server<Streamable>;

impl TransportServer for Streamable {
    async fn start_behind(
        engine: Engine,
        recorder: Recorder,
        options: Options,
        protection: Protection,
    ) -> Result<Server<Self>, StartError> {
        let sessions = options.limits.sessions;
        let options = options.with_validation(&engine.http().validation);
        Server::launch(options, ENDPOINT, recorder.clone(), move |shutdown, path| {
            let board = shutdown.clone();
            let (server, path) =
                (Arc::new(ServerState::start(engine, recorder, shutdown, sessions)), Arc::<str>::from(path));
            board.connect(&server);
            move |exchange, body| serve(Arc::clone(&server), Arc::clone(&path), protection.clone(), exchange, body)
        })
        .await
    }
}

/// Serves one HTTP exchange.
async fn serve(
    server: Arc<ServerState>,
    path: Arc<str>,
    protection: Protection,
    exchange: HttpExchange,
    body: Incoming,
) -> HttpResult {
    if exchange.path() != &*path {
        return Ok(match protection.metadata(&exchange).await {
            Some(metadata) => metadata,
            None => {
                exchange.reject(StatusCode::NOT_FOUND, format!("the endpoint is at {path}, not at {}", exchange.path()))
            }
        });
    }
    match *exchange.method() {
        Method::POST => post::serve(server, protection, exchange, body).await,
        Method::GET | Method::DELETE if server.has_sessions() => {
            exchange.receive_unread();
            match protection.refuses(&exchange, None) {
                Some(refusal) => Ok(refusal),
                None => sessions::serve(server, exchange).await,
            }
        }
        _ => {
            let supported = if server.has_sessions() { "GET, POST, DELETE" } else { "POST" };
            let status = InvalidRequest::status(server.validation().methods, 405).unwrap_or(204);
            Ok(exchange.allow_only(supported, StatusCode::from_u16(status).unwrap_or(StatusCode::METHOD_NOT_ALLOWED)))
        }
    }
}
