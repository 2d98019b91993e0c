//! POST: one message from the client.

use std::sync::Arc;

use http::StatusCode;
use hyper::body::Incoming;
use serde_json::Value;

use super::{
    hub::{Core, Hub},
    protection::Protection,
    responder::{Subject, Verdict},
    validate, wire,
};
use crate::{
    engine::{Defect, Era, Origin, SessionKey},
    frame::{Body, Mark},
    listen::{exchange::Exchange, serving::Aborted},
};

pub(super) async fn serve(hub: Arc<Hub>, protection: Protection, exchange: Exchange, body: Incoming) -> Verdict {
    let bytes = match wire::read(body).await {
        Ok(bytes) => bytes,
        Err(status) => return Ok(exchange.turn_away(status)),
    };
    let message = serde_json::from_slice::<Value>(&bytes).ok();
    exchange.receive(|| match &message {
        Some(message) => Body::Json(message.clone()),
        None if bytes.is_empty() => Body::Mark(Mark::Bodiless),
        None => Body::Text(String::from_utf8_lossy(&bytes).into_owned()),
    });
    if let Some(refusal) = protection.refuses(&exchange, message.as_ref()) {
        return Ok(refusal);
    }
    if let Some(status) = unfit(&exchange) {
        return Ok(exchange.refuse(status));
    }
    let (verdict, presence) = match message {
        None => hub.start(&exchange, Subject::Request, None, crate::engine::Engine::on_garbage),
        Some(message) => {
            let (from, session_header) = admit(&mut hub.lock(), &exchange, &message);
            hub.start(&exchange, subject_of(&message), session_header, |engine| engine.on_message(&from, &message))
        }
    };
    // Whoever drops an open answer has said something else than an answer: the connection goes with it.
    let verdict = verdict.await.unwrap_or(Err(Aborted));
    presence.dismiss();
    verdict
}

/// The status for a request whose envelope says that it cannot be answered. The client must accept both kinds of
/// answer (2025-03-26 and later, transports, sending messages).
fn unfit(exchange: &Exchange) -> Option<StatusCode> {
    let content_type = exchange.header("content-type").unwrap_or_default();
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    if !media_type.eq_ignore_ascii_case("application/json") {
        return Some(StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }
    let both = ["application/json", "text/event-stream"].iter().all(|one| wire::accepts(exchange.headers(), one));
    (!both).then_some(StatusCode::NOT_ACCEPTABLE)
}

/// Which session a message belongs to, what is wrong with its envelope, and the id of the session it may open.
fn admit(core: &mut Core, exchange: &Exchange, message: &Value) -> (Origin, Option<String>) {
    let version = exchange.header("mcp-protocol-version");
    let host = exchange.header("host").map(str::to_owned);
    if validate::era(core.engine.support(), version, message) == Era::Modern {
        let defect = validate::modern(&core.engine, exchange.headers(), message);
        return (Origin { era: Some(Era::Modern), defect, host, ..Origin::default() }, None);
    }
    if message.get("method").and_then(Value::as_str) == Some("initialize") {
        let (key, id) = core.open_session();
        return (Origin { host, ..Origin::session(key) }, Some(id));
    }
    match session(core, exchange) {
        Ok(key) => (Origin { host, ..Origin::session(key) }, None),
        Err(defect) => (Origin { defect: Some(defect), host, ..Origin::default() }, None),
    }
}

/// The session of a request after `initialize` (2025-11-25, transports, session management and protocol version
/// header). The codes are those of the official SDKs; the specification leaves them open.
pub(super) fn session(core: &Core, exchange: &Exchange) -> Result<SessionKey, Defect> {
    if let Some(version) = exchange.header("mcp-protocol-version")
        && (!core.engine.support().has(version) || Era::of(version) == Era::Modern)
    {
        let supported = core.engine.support().all().join(", ");
        let words = format!("bad request: unsupported protocol version (supported versions: {supported})");
        return Err(Defect::new(400, -32000, words));
    }
    let Some(id) = exchange.header("mcp-session-id") else {
        return Err(Defect::new(400, -32000, "bad request: `Mcp-Session-Id` is required"));
    };
    core.session(id).ok_or_else(|| Defect::new(404, -32001, "session not found"))
}

/// What a body is to be answered with: only a request, or what is no JSON-RPC message at all, gets a message back.
fn subject_of(message: &Value) -> Subject {
    let request = message.get("method").is_some() && message.get("id").is_some();
    match message {
        // A batch of nothing but notifications and responses is accepted and no more (2025-03-26, transports).
        Value::Array(messages) if !messages.is_empty() => {
            let one_way = messages.iter().all(|message| !message.is_array() && subject_of(message) == Subject::OneWay);
            if one_way { Subject::OneWay } else { Subject::Request }
        }
        Value::Object(_) if !request => Subject::OneWay,
        _ => Subject::Request,
    }
}
