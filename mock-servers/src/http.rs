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
    listen::{Front, Options, Server, Streamable, exchange::Exchange, protection::Protection},
    record::Recorder,
};

/// The path of the MCP endpoint.
pub const ENDPOINT: &str = "/mcp";

/// A running mock server that speaks Streamable HTTP. Dropping it stops it.
pub type HttpMock = Server<Streamable>;

impl Front for Streamable {
    async fn start_behind(
        engine: Engine,
        recorder: Recorder,
        options: Options,
        protection: Protection,
    ) -> Result<Server<Self>, StartError> {
        let sessions = options.limits.sessions;
        Server::launch(options, ENDPOINT, recorder.clone(), move |stopper, path| {
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
