//! Routing of HTTP requests to the endpoints.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use axum::body::{Body as HttpBody, to_bytes};
use bytes::Bytes;
use http::{Method, Response, StatusCode};
use hyper::body::Incoming;

use super::{
    access,
    audit::AuditEvent,
    authorize::{authorize, page},
    client_auth,
    discovery::document,
    documents,
    error::OAuthError,
    guard::Guard,
    params::Params,
    register::register,
    render::{recorded, render},
    resource,
    sanitize::sanitized,
    server::Server,
    token::{exchange, token},
};
use crate::{
    listen::{
        http_exchange::HttpExchange,
        protection::STARTING,
        response::{Aborted, record_response},
    },
    oauth_messages::OAuthResponse,
};
use evidence::Recorder;

/// The largest request body.
const MAX_BODY_BYTES: usize = 256 * 1024;
/// Timeout of reading a request body.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Marks the server of a mock authorization server.
#[derive(Debug)]
pub enum AuthorizationServer {}

/// The authorization server and the resource behind one port.
#[derive(Debug)]
pub(super) struct OAuthService {
    pub(super) server: Arc<Server>,
    pub(super) guard: Guard,
    /// The path of the protected resource.
    pub(super) path: String,
}

/// Serves one exchange.
pub(super) async fn serve(
    service: Arc<OnceLock<OAuthService>>,
    recorder: Recorder,
    exchange: HttpExchange,
    body: Incoming,
) -> Result<Response<HttpBody>, Aborted> {
    let Some(service) = service.get() else { return Ok(exchange.reject(StatusCode::SERVICE_UNAVAILABLE, STARTING)) };
    let read = tokio::time::timeout(BODY_TIMEOUT, to_bytes(HttpBody::new(body), MAX_BODY_BYTES)).await;
    let body = match read {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => return Ok(exchange.reject(StatusCode::PAYLOAD_TOO_LARGE, "the body is larger than 256 KiB")),
        Err(_) => return Ok(exchange.reject(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time")),
    };
    exchange.receive(|| recorded(&body));
    let answer = route(service, &exchange, &body).await;
    let text = recorded(&answer.body);
    let response = render(answer).await;
    record_response(&recorder, exchange.connection, &response, text);
    Ok(response)
}

async fn route(service: &OAuthService, exchange: &HttpExchange, body: &Bytes) -> OAuthResponse {
    let (server, path) = (&*service.server, exchange.path());
    let endpoints = &server.script.endpoints;
    if path == service.path {
        return resource::serve(&service.guard, exchange, body);
    }
    if *exchange.method() == Method::GET
        && let Some(answer) = service.guard.metadata(path).or_else(|| document(server, path))
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
    let (method, path) = (exchange.method().to_string(), sanitized(path));
    server.note(None, AuditEvent::Missed { method, path });
    OAuthResponse::empty(404)
}

/// The response to other methods than POST.
fn posted(exchange: &HttpExchange) -> Option<OAuthResponse> {
    (*exchange.method() != Method::POST).then(|| OAuthResponse::empty(405).with("allow", "POST"))
}

async fn at_authorization(server: &Server, exchange: &HttpExchange, body: &Bytes) -> OAuthResponse {
    // Both methods are supported (RFC 6749 section 3.1).
    let params = match *exchange.method() {
        Method::GET => Params::parse(exchange.query().unwrap_or_default().as_bytes()),
        Method::POST if is_form(exchange) => Params::parse(body),
        Method::POST => return page(400, "invalid_request: the body has to be a form"),
        _ => return OAuthResponse::empty(405).with("allow", "GET, POST"),
    };
    if let Some(id) = params.get("client_id") {
        documents::meet(server, id).await;
    }
    authorize(server, exchange.method().as_str(), &params)
}

/// The endpoints that take a form from a client.
async fn at_form(server: &Server, exchange: &HttpExchange, body: &Bytes, provider: bool) -> OAuthResponse {
    if let Some(refusal) = posted(exchange) {
        return refusal;
    }
    if !is_form(exchange) {
        return OAuthError::new("invalid_request", "the body has to be a form").response();
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

fn is_form(exchange: &HttpExchange) -> bool {
    exchange
        .header("content-type")
        .is_some_and(|text| text.to_ascii_lowercase().starts_with("application/x-www-form-urlencoded"))
}
