//! HTTP requests to authorization servers, with limits for size and time, and subject to the [`AddressPolicy`].
//!
//! | request | redirects |
//! | --- | --- |
//! | metadata | within the origin, three at most |
//! | registration, tokens | none: they carry secrets |

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use futures::StreamExt;
use http::{HeaderMap, StatusCode, header::ACCEPT};
use reqwest::{Client, RequestBuilder, redirect::Policy};
use serde_json::{Map, Value};
use url::Url;

use super::{
    address_policy::{AddressPolicy, shown},
    error::{AuthFailure, quoted},
};
use crate::http_client;

/// Maximum size of a response.
const MAX_RESPONSE_BYTES: usize = 512 * 1024;
const REDIRECTS: usize = 3;

/// A JSON object.
pub(super) type Object = Map<String, Value>;

/// HTTP client for authorization servers.
#[derive(Debug, Clone)]
pub(super) struct AuthHttpClient {
    documents: Clients,
    endpoints: Clients,
    policy: AddressPolicy,
    limit: Duration,
}

/// The clients for URLs that do not need the certificates of the system, and for others. Each is built for its first
/// request.
#[derive(Debug, Clone, Default)]
struct Clients {
    plain: OnceLock<Client>,
    secure: OnceLock<Client>,
}

/// A complete response.
#[derive(Debug)]
pub(super) struct AuthServerResponse {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

/// The result of requesting a document.
#[derive(Debug)]
pub(super) enum Document {
    /// The document.
    Object(Object),
    /// Not a JSON object; with a description of the response.
    Absent(String),
}

impl AuthHttpClient {
    /// A client for the metadata of this server, with a timeout for each request.
    pub(super) fn new(server: &Url, limit: Duration) -> Self {
        let policy = AddressPolicy::new(server);
        Self { documents: Clients::default(), endpoints: Clients::default(), policy, limit }
    }

    /// A client for a URL that the user configured.
    pub(super) fn for_url(&self, location: &Url) -> Self {
        Self::new(location, self.limit)
    }

    /// The client for this URL.
    fn client<'a>(
        &self,
        clients: &'a Clients,
        url: &Url,
        redirects: fn() -> Policy,
    ) -> Result<&'a Client, AuthFailure> {
        let slot = if http_client::needs_certificates(url) { &clients.secure } else { &clients.plain };
        if let Some(client) = slot.get() {
            return Ok(client);
        }
        let builder = http_client::builder_for(url).redirect(redirects());
        let built = builder.dns_resolver(self.policy.clone()).timeout(self.limit).build();
        let client =
            built.map_err(|source| AuthFailure::Unreachable { endpoint: shown(url), source: Arc::new(source) })?;
        Ok(slot.get_or_init(|| client))
    }

    /// Requests a document.
    ///
    /// # Errors
    /// If the URL is blocked or unreachable.
    pub(super) async fn document(&self, url: &Url) -> Result<Document, AuthFailure> {
        self.policy.check(url).await?;
        let request =
            self.client(&self.documents, url, same_origin)?.get(url.clone()).header(ACCEPT, "application/json");
        let response = self.read(url, request).await?;
        if response.status != StatusCode::OK {
            return Ok(Document::Absent(format!("HTTP status {}", response.status.as_u16())));
        }
        // Some servers respond to every path with status 200 and a page, so only a JSON object counts. The media type
        // is ignored, because many servers set a wrong one.
        Ok(match serde_json::from_slice(&response.body) {
            Ok(Value::Object(object)) => Document::Object(object),
            _ => Document::Absent("no JSON object".to_owned()),
        })
    }

    /// Prepares a GET of another resource.
    ///
    /// # Errors
    /// If the URL is blocked.
    pub(super) async fn get(&self, url: &Url) -> Result<RequestBuilder, AuthFailure> {
        self.policy.check(url).await?;
        Ok(self.client(&self.endpoints, url, Policy::none)?.get(url.clone()))
    }

    /// Sends a request, and returns status and headers only.
    pub(super) async fn head_of(
        &self,
        url: &Url,
        request: RequestBuilder,
    ) -> Result<(StatusCode, HeaderMap), AuthFailure> {
        let unreachable = |source: reqwest::Error| AuthFailure::Unreachable {
            endpoint: shown(url),
            source: Arc::new(source.without_url()),
        };
        let response = request.send().await.map_err(unreachable)?;
        Ok((response.status(), response.headers().clone()))
    }

    /// Prepares a POST to an endpoint.
    ///
    /// # Errors
    /// If the URL is blocked.
    pub(super) async fn endpoint(&self, url: &Url) -> Result<RequestBuilder, AuthFailure> {
        self.policy.check(url).await?;
        let client = self.client(&self.endpoints, url, Policy::none)?;
        Ok(client.post(url.clone()).header(ACCEPT, "application/json"))
    }

    /// Checks a URL for this client or the browser.
    pub(super) async fn check(&self, url: &Url) -> Result<(), AuthFailure> {
        self.policy.check(url).await
    }

    /// Sends a request, and reads the complete response.
    pub(super) async fn read(&self, url: &Url, request: RequestBuilder) -> Result<AuthServerResponse, AuthFailure> {
        let unreachable = |source: reqwest::Error| AuthFailure::Unreachable {
            endpoint: shown(url),
            source: Arc::new(source.without_url()),
        };
        let exchange = async {
            let response = request.send().await.map_err(unreachable)?;
            let (status, headers) = (response.status(), response.headers().clone());
            let mut stream = response.bytes_stream();
            let mut body = Vec::new();
            while let Some(chunk) = stream.next().await {
                body.extend_from_slice(&chunk.map_err(unreachable)?);
                if body.len() > MAX_RESPONSE_BYTES {
                    let problem = format!("it is longer than {MAX_RESPONSE_BYTES} bytes");
                    return Err(AuthFailure::Malformed { endpoint: shown(url), problem });
                }
            }
            Ok(AuthServerResponse { status, headers, body })
        };
        // The timeout applies to the complete response, so that a slow body cannot extend it.
        tokio::time::timeout(self.limit, exchange).await.unwrap_or_else(|_| {
            let source =
                std::io::Error::new(std::io::ErrorKind::TimedOut, format!("no response within {:?}", self.limit));
            Err(AuthFailure::Unreachable { endpoint: shown(url), source: Arc::new(source) })
        })
    }
}

/// Follows redirects within the origin.
fn same_origin() -> Policy {
    Policy::custom(|attempt| {
        let stays = attempt.previous().first().is_some_and(|first| first.origin() == attempt.url().origin());
        if stays && attempt.previous().len() <= REDIRECTS { attempt.follow() } else { attempt.stop() }
    })
}

impl AuthServerResponse {
    /// The body as a JSON object.
    pub(super) fn object(&self) -> Option<Object> {
        serde_json::from_slice(&self.body).ok()
    }

    /// The error in the body (RFC 6749, section 5.2), or the status.
    pub(super) fn error(&self) -> (String, Option<String>) {
        let object = self.object().unwrap_or_default();
        let error = text(&object, "error").map_or_else(|| format!("HTTP status {}", self.status.as_u16()), quoted);
        (error, text(&object, "error_description").map(quoted))
    }
}

/// The string of a field.
pub(super) fn text<'a>(object: &'a Object, name: &str) -> Option<&'a str> {
    object.get(name)?.as_str()
}

/// The strings of an array field, if it is one.
pub(super) fn texts(object: &Object, name: &str) -> Option<Vec<String>> {
    let list = object.get(name)?.as_array()?;
    Some(list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

/// The URL of a field.
pub(super) fn url(object: &Object, name: &str) -> Option<Url> {
    Url::parse(text(object, name)?).ok()
}
