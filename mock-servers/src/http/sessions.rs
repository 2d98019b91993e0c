//! GET and DELETE: the stream of the server's own messages, and the end of a session. Handshake revisions alone have
//! them.

use std::sync::Arc;

use http::{Method, StatusCode};
use serde_json::json;

use super::{
    hub::{Core, Hub},
    post,
    responder::{Asked, Subject, Verdict},
    wire::{self, EventId},
};
use crate::{
    engine::{Defect, Origin, SessionKey},
    listen::exchange::Exchange,
};

pub(super) async fn serve(hub: Arc<Hub>, exchange: Exchange) -> Verdict {
    if exchange.method() == Method::GET && !wire::accepts(exchange.headers(), "text/event-stream") {
        return Ok(exchange.refuse(StatusCode::NOT_ACCEPTABLE));
    }
    let found = {
        let core = &mut *hub.lock();
        post::session(core, &exchange).and_then(|key| Ok((key, subject(core, &exchange, key)?)))
    };
    let (key, subject) = match found {
        Ok(found) => found,
        Err(defect) => {
            return Ok(exchange.refuse(StatusCode::from_u16(defect.status).unwrap_or(StatusCode::BAD_REQUEST)));
        }
    };
    // The engine sees a GET or a DELETE as a message of that method, so that scripts can have rules for them.
    let message = json!({ "jsonrpc": "2.0", "method": exchange.method().as_str() });
    let asked = Asked { subject, session: Some(key), session_header: None };
    let from = Origin { host: exchange.header("host").map(str::to_owned), ..Origin::session(key) };
    let (id, verdict) = hub.ask(&exchange, asked, |engine| engine.on_message(&from, &message)).await;
    if verdict.as_ref().is_ok_and(|response| response.status().is_success()) {
        match subject {
            Subject::Listen => hub.attach(key, id),
            Subject::Resume(event) => hub.attach(key, event.stream),
            _ => hub.lock().close_session(key),
        }
    }
    verdict
}

/// What a GET or a DELETE asks for. An event id that this server has not given out, or whose successors are forgotten, is
/// refused: going on from elsewhere would lose messages without a word.
fn subject(core: &mut Core, exchange: &Exchange, session: SessionKey) -> Result<Subject, Defect> {
    if exchange.method() == Method::DELETE {
        return Ok(Subject::Delete);
    }
    let Some(last) = exchange.headers().get("last-event-id") else { return Ok(Subject::Listen) };
    let event = last.to_str().ok().and_then(EventId::read);
    match event.filter(|event| core.remembers(session, event.stream, event.number)) {
        Some(event) => Ok(Subject::Resume(event)),
        None => Err(Defect::new(400, -32000, "bad request: unknown event id")),
    }
}
