//! POST: one message from the client.

use std::sync::Arc;

use http::StatusCode;
use hyper::body::Incoming;
use serde_json::Value;

use super::{
    hub::{Core, Hub},
    plain,
    responder::{Asked, Subject, Verdict},
    validate, wire,
};
use crate::{
    engine::{Defect, Engine, Era, LEGACY, Origin, SessionKey},
    frame::{Body, Mark},
    listen::{exchange::Exchange, protection::Protection},
};

pub(super) async fn serve(hub: Arc<Hub>, protection: Protection, exchange: Exchange, body: Incoming) -> Verdict {
    let bytes = match exchange.read(body).await {
        Ok(bytes) => bytes,
        Err(status) => return Ok(exchange.turn_away(status)),
    };
    let unfit = unfit(&exchange);
    if unfit.is_none()
        && protection.is_open()
        && let Some(answer) = plain::answer(&hub, &exchange, &bytes)
    {
        return Ok(answer);
    }
    let message = serde_json::from_slice::<Value>(&bytes).ok();
    exchange.receive(|| match &message {
        Some(message) => Body::Json(message.clone()),
        None if bytes.is_empty() => Body::Mark(Mark::Bodiless),
        None => Body::Text(String::from_utf8_lossy(&bytes).into_owned()),
    });
    if let Some(refusal) = protection.refuses(&exchange, message.as_ref()) {
        return Ok(refusal);
    }
    if let Some(status) = unfit {
        return Ok(exchange.refuse(status));
    }
    let (_, verdict) = match message {
        None => {
            let asked = Asked { subject: Subject::Request, session: None, session_header: None };
            hub.ask(&exchange, asked, Engine::on_garbage).await
        }
        Some(message) => {
            let (from, session_header) = admit(&hub, &exchange, &message);
            let asked = Asked { subject: subject_of(&message), session: from.session, session_header };
            hub.ask(&exchange, asked, |engine| engine.on_message(&from, &message)).await
        }
    };
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
fn admit(hub: &Hub, exchange: &Exchange, message: &Value) -> (Origin, Option<String>) {
    let core = &mut *hub.lock();
    let version = exchange.header("mcp-protocol-version");
    let host = exchange.header("host").map(str::to_owned);
    if validate::era(core.engine.support(), version, message) == Era::Modern {
        let defect = validate::modern(&core.engine, exchange.headers(), message);
        return (Origin { era: Some(Era::Modern), defect, host, ..Origin::default() }, None);
    }
    let initializes = message.get("method").and_then(Value::as_str) == Some("initialize");
    if initializes && hub.has_sessions() {
        let (key, id) = core.open_session();
        return (Origin { host, ..Origin::session(key) }, Some(id));
    }
    let found = match (hub.has_sessions(), initializes) {
        (true, _) => session(core, exchange),
        (false, true) => Ok(core.shared_session(None)),
        (false, false) => stateless(core, exchange),
    };
    match found {
        Ok(key) => (Origin { host, ..Origin::session(key) }, None),
        Err(defect) => (Origin { defect: Some(defect), host, ..Origin::default() }, None),
    }
}

/// What stands for the session where there are none. A client of a revision that has no header for it, or that leaves
/// it out, is taken for one of 2025-03-26 (2025-11-25, transports, protocol version header).
fn stateless(core: &mut Core, exchange: &Exchange) -> Result<SessionKey, Defect> {
    fit_version(core, exchange)?;
    let support = core.engine.support();
    let assumed = [LEGACY[1], LEGACY[0]].into_iter().find(|old| support.has(old));
    let revision = exchange.header("mcp-protocol-version").or(assumed).or_else(|| support.newest_legacy());
    let revision = revision.map(str::to_owned);
    Ok(core.shared_session(revision.as_deref()))
}

/// The session of a request after `initialize` (2025-11-25, transports, session management and protocol version
/// header). The codes are those of the official SDKs; the specification leaves them open.
pub(super) fn session(core: &mut Core, exchange: &Exchange) -> Result<SessionKey, Defect> {
    fit_version(core, exchange)?;
    let Some(id) = exchange.header("mcp-session-id") else {
        return Err(Defect::new(400, -32000, "bad request: `Mcp-Session-Id` is required"));
    };
    core.roster.find(id).ok_or_else(|| Defect::new(404, -32001, "session not found"))
}

fn fit_version(core: &Core, exchange: &Exchange) -> Result<(), Defect> {
    let support = core.engine.support();
    match exchange.header("mcp-protocol-version") {
        Some(version) if !support.has(version) || Era::of(version) == Era::Modern => {
            let supported = support.all().join(", ");
            let words = format!("bad request: unsupported protocol version (supported versions: {supported})");
            Err(Defect::new(400, -32000, words))
        }
        _ => Ok(()),
    }
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
