//! GET and DELETE: the stream of the server's own messages, and the end of a session. Handshake revisions alone have
//! them.

use std::sync::Arc;

use http::{Method, StatusCode};
use serde_json::json;

use super::{
    hub::Hub,
    post,
    responder::{Subject, Verdict},
    wire,
};
use crate::{
    engine::Origin,
    listen::{exchange::Exchange, serving::Aborted},
};

pub(super) async fn serve(hub: Arc<Hub>, exchange: Exchange) -> Verdict {
    let listens = exchange.method() == Method::GET;
    if listens && !wire::accepts(exchange.headers(), "text/event-stream") {
        return Ok(exchange.refuse(StatusCode::NOT_ACCEPTABLE));
    }
    let found = post::session(&hub.lock(), &exchange);
    let key = match found {
        Ok(key) => key,
        Err(defect) => {
            return Ok(exchange.refuse(StatusCode::from_u16(defect.status).unwrap_or(StatusCode::BAD_REQUEST)));
        }
    };
    // The engine sees a GET or a DELETE as a message of that method, so that scripts can have rules for them.
    let message = json!({ "jsonrpc": "2.0", "method": exchange.method().as_str() });
    let subject = if listens { Subject::Listen } else { Subject::Delete };
    let mut id = None;
    let (verdict, presence) = hub.start(&exchange, subject, None, |engine| {
        let host = exchange.header("host").map(str::to_owned);
        let reaction = engine.on_message(&Origin { host, ..Origin::session(key) }, &message);
        id = Some(reaction.exchange);
        reaction
    });
    let verdict = verdict.await.unwrap_or(Err(Aborted));
    presence.dismiss();
    let granted = verdict.as_ref().is_ok_and(|response| response.status().is_success());
    match id.filter(|_| granted) {
        Some(id) if listens => hub.attach(key, id),
        Some(_) => hub.lock().close_session(key),
        None => {}
    }
    verdict
}
