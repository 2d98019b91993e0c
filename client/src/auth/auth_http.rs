//! HTTP requests to authorization servers, with limits for size and time, and subject to the [`AddressPolicy`].
//!
//! | request | redirects |
//! | --- | --- |
//! | metadata | within the origin, three at most |
//! | registration, tokens | none: they carry secrets |

use std::{sync::Arc, time::Duration};

use futures::StreamExt;
use http::{HeaderMap, StatusCode, header::ACCEPT};
use reqwest::{Client, RequestBuilder, redirect::Policy};
use serde_json::{Map, Value};
use url::Url;

use super::{
    address_policy::{AddressPolicy, shown},
    error::{AuthFailure, quoted},
};

/// Maximum size of a response.
const MAX_RESPONSE_BYTES: usize = 512 * 1024;
const REDIRECTS: usize = 3;

/// A JSON object.
pub(super) type Object = Map<String, Value>;

/// HTTP client for authorization servers.
#[derive(Debug, Clone)]
pub(super) struct AuthHttpClient {
    documents: Client,
    endpoints: Client,
    policy: AddressPolicy,
    limit: Duration,
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
    pub(super) fn new(server: &Url, limit: Duration) -> Result<Self, AuthFailure> {
        let policy = AddressPolicy::new(server);
        let same_origin = Policy::custom(|attempt| {
            let stays = attempt.previous().first().is_some_and(|first| first.origin() == attempt.url().origin());
            if stays && attempt.previous().len() <= REDIRECTS { attempt.follow() } else { attempt.stop() }
        });
        let build = |redirects: Policy| {
            let built =
                crate::http_client::builder().redirect(redirects).dns_resolver(policy.clone()).timeout(limit).build();
            built.map_err(|source| AuthFailure::Unreachable { endpoint: shown(server), source: Arc::new(source) })
        };
        Ok(Self { documents: build(same_origin)?, endpoints: build(Policy::none())?, policy, limit })
    }

    /// A client for a URL that the user configured.
    pub(super) fn for_url(&self, location: &Url) -> Result<Self, AuthFailure> {
        Self::new(location, self.limit)
    }

    /// Requests a document.
    ///
    /// # Errors
    /// If the URL is blocked or unreachable.
    pub(super) async fn document(&self, url: &Url) -> Result<Document, AuthFailure> {
        self.policy.check(url).await?;
        let request = self.documents.get(url.clone()).header(ACCEPT, "application/json");
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
    pub(super) async fn get(&self, url: &Url) -> Result<RequestBuilder, AuthFailure> {
        self.policy.check(url).await?;
        Ok(self.endpoints.get(url.clone()))
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
        Ok(self.endpoints.post(url.clone()).header(ACCEPT, "application/json"))
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
