//! From HTTP to the endpoints and back.

use std::{
    convert::Infallible,
    sync::{Arc, OnceLock},
    time::Duration,
};

use axum::body::{Body as HttpBody, to_bytes};
use bytes::Bytes;
use futures::{StreamExt as _, stream};
use http::{Method, Response, StatusCode, header};
use hyper::body::Incoming;

use super::{
    access,
    answer::{Answer, Refusal},
    audit::AuditEvent,
    authorize::authorize,
    client_auth,
    discovery::document,
    documents,
    guard::Guard,
    params::{Params, short},
    register::register,
    resource,
    server::Server,
    token::{exchange, token},
};
use crate::{
    frame::{Body, Mark},
    http::responder::record_response,
    listen::{exchange::Exchange, serving::Aborted},
    record::Recorder,
};

/// How large a body may be.
const LARGEST: usize = 256 * 1024;
/// How long a body may take to come.
const BODY_LIMIT: Duration = Duration::from_secs(30);
/// How many blanks are sent at once.
const CHUNK: u64 = 64 * 1024;

/// Marks the server of a fake authorization server.
#[derive(Debug)]
pub enum AuthorizationServer {}

/// All that is behind one port.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) server: Arc<Server>,
    pub(super) guard: Guard,
    /// The path of the protected resource.
    pub(super) path: String,
}

/// Serves one exchange.
pub(super) async fn serve(
    site: Arc<OnceLock<Site>>,
    recorder: Recorder,
    exchange: Exchange,
    body: Incoming,
) -> Result<Response<HttpBody>, Aborted> {
    let Some(site) = site.get() else { return Ok(exchange.turn_away(StatusCode::SERVICE_UNAVAILABLE)) };
    let read = tokio::time::timeout(BODY_LIMIT, to_bytes(HttpBody::new(body), LARGEST)).await;
    let body = match read {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => return Ok(exchange.turn_away(StatusCode::PAYLOAD_TOO_LARGE)),
        Err(_) => return Ok(exchange.turn_away(StatusCode::REQUEST_TIMEOUT)),
    };
    exchange.receive(|| recorded(&body));
    let answer = route(site, &exchange, &body).await;
    let text = recorded(&answer.body);
    let response = render(answer).await;
    record_response(&recorder, exchange.connection, &response, text);
    Ok(response)
}

fn recorded(body: &[u8]) -> Body {
    match serde_json::from_slice(body) {
        Ok(value) => Body::Json(value),
        Err(_) if body.is_empty() => Body::Mark(Mark::Bodiless),
        Err(_) => Body::Text(String::from_utf8_lossy(body).into_owned()),
    }
}

async fn route(site: &Site, exchange: &Exchange, body: &Bytes) -> Answer {
    let (server, path) = (&*site.server, exchange.path());
    let endpoints = &server.script.endpoints;
    if path == site.path {
        return resource::serve(&site.guard, exchange, body);
    }
    if *exchange.method() == Method::GET
        && let Some(answer) = site.guard.metadata(path).or_else(|| document(server, path))
    {
        return answer;
    }
    let provider = server.provider().is_some_and(|(provider, _)| path.strip_prefix(&provider.path) == Some("/token"));
    if path == endpoints.authorization {
        return at_authorization(server, exchange, body).await;
    }
    if path == endpoints.registration && server.script.registration.enabled {
        let content_type = exchange.header("content-type").unwrap_or_default();
        return posted(exchange).unwrap_or_else(|| register(server, content_type, body));
    }
    let forms = [&endpoints.token, &endpoints.revocation, &endpoints.introspection];
    if provider || forms.iter().any(|form| *form == path) {
        return at_form(server, exchange, body, provider).await;
    }
    let (method, path) = (exchange.method().to_string(), short(path));
    server.note(None, AuditEvent::Missed { method, path });
    Answer::empty(404)
}

/// The refusal of anything but a POST.
fn posted(exchange: &Exchange) -> Option<Answer> {
    (*exchange.method() != Method::POST).then(|| Answer::empty(405).with("allow", "POST"))
}

async fn at_authorization(server: &Server, exchange: &Exchange, body: &Bytes) -> Answer {
    // Both methods are supported (RFC 6749 section 3.1).
    let params = match *exchange.method() {
        Method::GET => Params::parse(exchange.query().unwrap_or_default().as_bytes()),
        Method::POST if is_form(exchange) => Params::parse(body),
        Method::POST => return Answer::page(400, "invalid_request: the body has to be a form"),
        _ => return Answer::empty(405).with("allow", "GET, POST"),
    };
    if let Some(id) = params.get("client_id") {
        documents::meet(server, id).await;
    }
    authorize(server, exchange.method().as_str(), &params)
}

/// The endpoints that take a form from a client.
async fn at_form(server: &Server, exchange: &Exchange, body: &Bytes, provider: bool) -> Answer {
    if let Some(refusal) = posted(exchange) {
        return refusal;
    }
    if !is_form(exchange) {
        return Refusal::new("invalid_request", "the body has to be a form").answer();
    }
    let (params, headers, path) = (Params::parse(body), exchange.headers(), exchange.path());
    if provider {
        return self::exchange(server, headers, &params);
    }
    if let Ok(claim) = client_auth::claim(headers, &params) {
        documents::meet(server, &claim.id).await;
    }
    let endpoints = &server.script.endpoints;
    if path == endpoints.revocation {
        access::revoke(server, headers, &params)
    } else if path == endpoints.introspection {
        access::introspect(server, headers, &params)
    } else {
        token(server, headers, &params)
    }
}

fn is_form(exchange: &Exchange) -> bool {
    exchange
        .header("content-type")
        .is_some_and(|text| text.to_ascii_lowercase().starts_with("application/x-www-form-urlencoded"))
}

/// An answer as it goes out: late, byte by byte, or with more behind it than there is.
pub(super) async fn render(answer: Answer) -> Response<HttpBody> {
    if !answer.delay.is_zero() {
        tokio::time::sleep(answer.delay).await;
    }
    let mut response = answer.head(());
    let Answer { body, padding, drip, .. } = answer;
    let body = if !drip.is_zero() {
        let bytes = stream::iter(body).then(move |byte| async move {
            tokio::time::sleep(drip).await;
            Ok::<_, Infallible>(Bytes::copy_from_slice(&[byte]))
        });
        HttpBody::from_stream(bytes)
    } else if padding > 0 {
        let blanks = stream::unfold(padding, |left| async move {
            let next = left.min(CHUNK);
            (next > 0).then(|| (Bytes::from(vec![b' '; usize::try_from(next).unwrap_or_default()]), left - next))
        });
        HttpBody::from_stream(stream::iter([Bytes::from(body)]).chain(blanks).map(Ok::<_, Infallible>))
    } else {
        response.headers_mut().insert(header::CONTENT_LENGTH, body.len().into());
        HttpBody::from(body)
    };
    response.map(|()| body)
}
