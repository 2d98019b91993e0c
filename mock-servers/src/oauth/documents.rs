//! Client ID metadata documents, and the keys of clients with a `jwks_uri`: fetched, checked and cached
//! (draft-ietf-oauth-client-id-metadata-document; 2026-07-28, client registration).
//!
//! Only loopback addresses are requested, so a client cannot use this server to reach other hosts.

use std::time::Duration;

use axum::body::{Body as HttpBody, to_bytes};
use http::{Request, header};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::{Map, Value};
use tokio::net::TcpStream;
use url::Url;

use super::{
    audit::{AuditEvent, Outcome},
    jwt,
    register::{check_redirect_uris, is_loopback},
    script::{AuthMethod, GrantType},
    server::Server,
    state::Client,
};

/// The largest document, in bytes.
const MAX_BYTES: usize = 16 * 1024;
/// The longest time for which a document is cached.
const MAX_AGE: Duration = Duration::from_secs(86_400);

/// Loads a client whose id is the URL of its metadata document, and the keys of a `jwks_uri`.
pub(crate) async fn meet(server: &Server, id: &str) {
    let known = server.state().clients.get(id).cloned();
    let stale = known.as_ref().is_none_or(|client| client.fresh_until.is_some_and(|until| until <= server.clock.now()));
    if stale && server.script.client_id_metadata.supported && is_document_url(id) {
        let met = client(server, id).await;
        let outcome = match &met {
            Ok(_) => Outcome::Granted,
            Err(why) => Outcome::Refused((*why).to_owned()),
        };
        server.note(Some(id), AuditEvent::DocumentFetched { outcome });
        if let Ok(client) = met {
            server.state().clients.insert(id.to_owned(), client);
        }
    }
    fetch_keys(server, id).await;
}

async fn fetch_keys(server: &Server, id: &str) {
    let known = server.state().clients.get(id).cloned();
    let Some(uri) = known.filter(|client| client.keys.is_empty()).and_then(|client| client.jwks_uri) else { return };
    let Ok(url) = Url::parse(&uri) else { return };
    if let Ok((document, _)) = fetch(server, &url).await
        && let Some(client) = server.state().clients.get_mut(id)
    {
        client.keys = jwt::key_set(&Value::Object(document));
    }
}

/// Whether the URL has a path and no credentials, fragment or dot segments, and is `https` or a loopback address.
fn is_document_url(id: &str) -> bool {
    let Ok(url) = Url::parse(id) else { return false };
    let scheme = url.scheme() == "https" || (url.scheme() == "http" && is_loopback(&url));
    let dotted = id.split('/').any(|segment| matches!(segment, "." | ".."));
    scheme && url.path() != "/" && url.fragment().is_none() && url.username().is_empty() && !dotted
}

async fn client(server: &Server, id: &str) -> Result<Client, &'static str> {
    let settings = &server.script.client_id_metadata;
    let (document, fresh) = match settings.documents.get(id) {
        Some(document) => (document.clone(), MAX_AGE),
        None => {
            let url = Url::parse(id).map_err(|_| "the id is not a URL")?;
            match fetch(server, &url).await {
                Ok(fetched) => fetched,
                Err(_) if settings.trust_unreachable => return Ok(trusted(server, id)),
                Err(why) => return Err(why),
            }
        }
    };
    described(server, id, &document, fresh)
}

/// The client that a document describes.
fn described(
    server: &Server,
    id: &str,
    document: &Map<String, Value>,
    fresh: Duration,
) -> Result<Client, &'static str> {
    let text = |name: &str| document.get(name).and_then(Value::as_str);
    // Compared as strings (2026-07-28, client ID metadata documents, implementation requirements).
    if text("client_id") != Some(id) {
        return Err("client_id is not the URL of the document");
    }
    if text("client_name").is_none() {
        return Err("client_name is missing");
    }
    if document.contains_key("client_secret") || document.contains_key("client_secret_expires_at") {
        return Err("a public document must not contain a secret");
    }
    let texts =
        |name: &str| document.get(name).and_then(|value| serde_json::from_value::<Vec<String>>(value.clone()).ok());
    let redirect_uris = texts("redirect_uris").ok_or("redirect_uris is missing")?;
    check_redirect_uris(&redirect_uris, None).map_err(|_| "a redirect URI is not allowed")?;
    let method = match text("token_endpoint_auth_method") {
        None | Some("none") => AuthMethod::None,
        Some("private_key_jwt") => AuthMethod::PrivateKeyJwt,
        Some(_) => return Err("the token_endpoint_auth_method needs a secret, or is not known"),
    };
    let grants = texts("grant_types").map_or_else(
        || vec![GrantType::AuthorizationCode],
        |names| names.iter().filter_map(|name| GrantType::named(name)).collect(),
    );
    Ok(Client {
        methods: vec![method],
        keys: document.get("jwks").map(jwt::key_set).unwrap_or_default(),
        jwks_uri: text("jwks_uri").map(str::to_owned),
        redirect_uris,
        any_redirect: false,
        grants,
        fresh_until: Some(server.clock.now() + fresh),
        ..trusted(server, id)
    })
}

/// A public client without known metadata.
fn trusted(server: &Server, id: &str) -> Client {
    Client {
        id: id.to_owned(),
        secret: None,
        secret_expires: None,
        methods: vec![AuthMethod::None],
        keys: Vec::new(),
        jwks_uri: None,
        redirect_uris: Vec::new(),
        any_redirect: true,
        grants: vec![GrantType::AuthorizationCode, GrantType::RefreshToken],
        scopes: None,
        dpop_bound: false,
        fresh_until: Some(server.clock.now() + MAX_AGE),
    }
}

/// A JSON object from a loopback address, and its freshness lifetime.
async fn fetch(server: &Server, url: &Url) -> Result<(Map<String, Value>, Duration), &'static str> {
    if url.scheme() != "http" || !is_loopback(url) {
        return Err("the document is not on a loopback address");
    }
    let limit = server.script.client_id_metadata.timeout.0;
    tokio::time::timeout(limit, get(url)).await.unwrap_or(Err("the document took too long"))
}

async fn get(url: &Url) -> Result<(Map<String, Value>, Duration), &'static str> {
    let host = if url.host_str().is_some_and(|host| host.contains(':')) { "::1" } else { "127.0.0.1" };
    let port = url.port_or_known_default().ok_or("the URL has no port")?;
    let unreachable = "the document could not be reached";
    let stream = TcpStream::connect((host, port)).await.map_err(|_| unreachable)?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|_| unreachable)?;
    let driver = tokio::spawn(connection);
    let target = url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()));
    let request = Request::get(target)
        .header(header::HOST, format!("{}:{port}", url.host_str().unwrap_or(host)))
        .header(header::ACCEPT, "application/json")
        .body(HttpBody::empty())
        .map_err(|_| unreachable)?;
    let response = sender.send_request(request).await.map_err(|_| unreachable)?;
    // Redirects are not followed (draft section 4).
    if response.status() != 200 {
        return Err("the response with the document does not have status 200");
    }
    let fresh = max_age(response.headers());
    let is_json = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if !is_json.is_some_and(|text| text.starts_with("application/") && text.contains("json")) {
        return Err("the document is not JSON");
    }
    let body =
        to_bytes(HttpBody::new(response.into_body()), MAX_BYTES).await.map_err(|_| "the document is too large")?;
    driver.abort();
    let document = serde_json::from_slice(&body).map_err(|_| "the document is not a JSON object")?;
    Ok((document, fresh))
}

/// The freshness lifetime of a response (RFC 9111 section 5.2.2.1), within limits; zero without one.
fn max_age(headers: &http::HeaderMap) -> Duration {
    let text = headers.get(header::CACHE_CONTROL).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let age = text.split(',').find_map(|part| part.trim().strip_prefix("max-age=")?.parse().ok());
    if text.contains("no-store") {
        Duration::ZERO
    } else {
        age.map_or(Duration::ZERO, Duration::from_secs).min(MAX_AGE)
    }
}
