//! POST: one message from the client.

use std::sync::Arc;

use http::StatusCode;
use hyper::body::Incoming;
use serde_json::Value;

use super::{
    fast_path,
    responder::{HttpRequestInfo, HttpRequestKind},
    server_state::{Core, ServerState},
    validate,
};
use crate::{
    engine::{Engine, Era, Origin, Rejection, RevisionRules, SessionKey},
    listen::{http_exchange::HttpExchange, protection::Protection, response::HttpResult, wire},
    script::{InvalidRequest, Validation},
};
use evidence::{Body, ConnectionEvent, Revision};

pub(super) async fn serve(
    server: Arc<ServerState>,
    protection: Protection,
    exchange: HttpExchange,
    body: Incoming,
) -> HttpResult {
    let bytes = match exchange.read(body).await {
        Ok(bytes) => bytes,
        Err(rejection) => return Ok(rejection),
    };
    let unfit = unfit(&exchange, server.validation());
    if unfit.is_none()
        && protection.is_open()
        && let Some(answer) = fast_path::respond(&server, &exchange, &bytes)
    {
        return Ok(answer);
    }
    let message = serde_json::from_slice::<Value>(&bytes).ok();
    exchange.receive(|| match &message {
        Some(message) => Body::json(message.clone()),
        None if bytes.is_empty() => Body::Event(ConnectionEvent::Bodiless),
        None => Body::Text(String::from_utf8_lossy(&bytes).into_owned()),
    });
    if let Some(refusal) = protection.refuses(&exchange, message.as_ref()) {
        return Ok(refusal);
    }
    if let Some((status, reason)) = unfit {
        return Ok(exchange.refuse(status, reason));
    }
    let (_, verdict) = match message {
        None => {
            let asked = HttpRequestInfo { kind: HttpRequestKind::Request, session: None, session_header: None };
            server.ask(&exchange, asked, Engine::on_garbage).await
        }
        Some(message) => {
            let (from, session_header) = admit(&server, &exchange, &message);
            // The error to a rejected notification may come late, too.
            let kind = if from.rejection.is_some() { HttpRequestKind::Request } else { subject_of(&message) };
            let asked = HttpRequestInfo { kind, session: from.session, session_header };
            server.ask(&exchange, asked, |engine| engine.on_message(&from, &message)).await
        }
    };
    verdict
}

/// The status of a request without an acceptable response type, and the reason. The client must accept both types (2025-03-26 and
/// later, transports, sending messages).
fn unfit(exchange: &HttpExchange, validation: &Validation) -> Option<(StatusCode, String)> {
    let status = |handling, default| {
        InvalidRequest::status(handling, default).and_then(|status| StatusCode::from_u16(status).ok())
    };
    let content_type = exchange.header("content-type").unwrap_or_default();
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    if !media_type.eq_ignore_ascii_case("application/json") {
        return status(validation.content_type, 415).map(|status| {
            let found = if content_type.is_empty() { "missing".to_owned() } else { format!("`{content_type}`") };
            (status, format!("Content-Type is {found}, it must be application/json"))
        });
    }
    let missing = ["application/json", "text/event-stream"].into_iter();
    let missing: Vec<_> = missing.filter(|one| !wire::accepts(exchange.headers(), one)).collect();
    if missing.is_empty() {
        return None;
    }
    status(validation.accept, 406).map(|status| (status, format!("Accept lacks {}", missing.join(" and "))))
}

/// The session of a message, its rejection, and the id of the session that it may open.
fn admit(server: &ServerState, exchange: &HttpExchange, message: &Value) -> (Origin, Option<String>) {
    let core = &mut *server.lock();
    let version = exchange.header("mcp-protocol-version");
    let host = exchange.header("host").map(str::to_owned);
    if validate::era(core.engine.support(), version, message) == Era::Modern {
        let rejection = validate::modern(&core.engine, exchange.headers(), message);
        return (Origin { era: Some(Era::Modern), rejection, host, ..Origin::default() }, None);
    }
    let initializes = message.get("method").and_then(Value::as_str) == Some("initialize");
    if initializes && server.has_sessions() {
        let (key, id) = core.open_session();
        return (Origin { host, ..Origin::session(key) }, Some(id));
    }
    let found = match (server.has_sessions(), initializes) {
        (true, _) => validate::session(core, exchange),
        (false, true) => Ok(core.shared_session(None)),
        (false, false) => stateless(core, exchange),
    };
    match found {
        Ok(key) => (Origin { host, ..Origin::session(key) }, None),
        Err(rejection) => (Origin { rejection: Some(rejection), host, ..Origin::default() }, None),
    }
}

/// The session of clients without sessions. A client without the version header counts as one of 2025-03-26
/// (2025-11-25, transports, protocol version header).
fn stateless(core: &mut Core, exchange: &HttpExchange) -> Result<SessionKey, Rejection> {
    validate::fit_version(core, exchange)?;
    let support = core.engine.support();
    let without_header = Revision::ALL.iter().rev().filter(|revision| !RevisionRules::new(**revision).version_header);
    let assumed = without_header.map(|revision| revision.as_str()).find(|old| support.has(old));
    let revision = exchange.header("mcp-protocol-version").or(assumed).or_else(|| support.newest_legacy());
    let revision = revision.map(str::to_owned);
    Ok(core.shared_session(revision.as_deref()))
}

/// The kind of response to a body: only requests and invalid messages get a message.
fn subject_of(message: &Value) -> HttpRequestKind {
    let request = message.get("method").is_some() && message.get("id").is_some();
    match message {
        // A batch of only notifications and responses gets 202 (2025-03-26, transports).
        Value::Array(messages) if !messages.is_empty() => {
            let one_way =
                messages.iter().all(|message| !message.is_array() && subject_of(message) == HttpRequestKind::OneWay);
            if one_way { HttpRequestKind::OneWay } else { HttpRequestKind::Request }
        }
        Value::Object(_) if !request => HttpRequestKind::OneWay,
        _ => HttpRequestKind::Request,
    }
}
