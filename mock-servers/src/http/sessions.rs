//! GET and DELETE of the handshake revisions: the stream of the server's own messages, and the end of a session.

use std::sync::Arc;

use http::{Method, StatusCode};
use serde_json::json;

use super::{
    responder::{HttpRequestInfo, HttpRequestKind},
    server_state::{Core, ServerState},
    validate,
};
use crate::{
    engine::{Origin, Rejection, SessionKey},
    listen::{
        http_exchange::HttpExchange,
        response::HttpResult,
        wire::{self, EventId},
    },
};

pub(super) async fn serve(server: Arc<ServerState>, exchange: HttpExchange) -> HttpResult {
    if exchange.method() == Method::GET && !wire::accepts(exchange.headers(), "text/event-stream") {
        return Ok(exchange.refuse(StatusCode::NOT_ACCEPTABLE, "Accept lacks text/event-stream"));
    }
    let found = {
        let core = &mut *server.lock();
        validate::session(core, &exchange).and_then(|key| Ok((key, kind(core, &exchange, key)?)))
    };
    let (key, kind) = match found {
        Ok(found) => found,
        Err(rejection) => {
            let status = StatusCode::from_u16(rejection.status).unwrap_or(StatusCode::BAD_REQUEST);
            return Ok(exchange.refuse(status, rejection.message));
        }
    };
    // The engine receives a GET or a DELETE as a message of that method, so that scripts can have rules for them.
    let mut message = json!({ "jsonrpc": "2.0", "method": exchange.method().as_str() });
    if let Some(last) = exchange.header("last-event-id") {
        message["params"] = json!({ "lastEventId": last });
    }
    let asked = HttpRequestInfo { kind, session: Some(key), session_header: None };
    let from = Origin { host: exchange.header("host").map(str::to_owned), ..Origin::session(key) };
    let (id, verdict) = server.ask(&exchange, asked, |engine| engine.on_message(&from, &message)).await;
    if verdict.as_ref().is_ok_and(|response| response.status().is_success()) {
        match kind {
            HttpRequestKind::Listen => server.attach(key, id),
            HttpRequestKind::Resume(event) => server.attach(key, event.stream),
            _ => server.lock().close_session(key),
        }
    }
    verdict
}

/// The kind of a GET or a DELETE. An event id that is unknown, or whose following events are dropped, is rejected:
/// resuming elsewhere would lose messages silently.
fn kind(core: &mut Core, exchange: &HttpExchange, session: SessionKey) -> Result<HttpRequestKind, Rejection> {
    if exchange.method() == Method::DELETE {
        return Ok(HttpRequestKind::Delete);
    }
    let Some(last) = exchange.headers().get("last-event-id") else { return Ok(HttpRequestKind::Listen) };
    let event = last.to_str().ok().and_then(EventId::read);
    match event.filter(|event| core.remembers(session, event.stream, event.number)) {
        Some(event) => Ok(HttpRequestKind::Resume(event)),
        None => Err(Rejection::new(400, -32000, "bad request: unknown event id")),
    }
}
