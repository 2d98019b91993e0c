//! The messages of an authorization server and of a protected resource before they become bytes: responses, redirects
//! and challenges. Endpoints create them, faults change them.

use std::time::Duration;

use axum::body::Body as HttpBody;
use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) const CHALLENGE_HEADER: &str = "www-authenticate";
pub(crate) const METADATA_PARAMETER: &str = "resource_metadata=\"";

/// The grant that a client exchanges for a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum GrantType {
    /// An authorization code.
    #[serde(rename = "authorization_code")]
    AuthorizationCode,
    /// A refresh token.
    #[serde(rename = "refresh_token")]
    RefreshToken,
    /// Its own credentials.
    #[serde(rename = "client_credentials")]
    ClientCredentials,
    /// An assertion of a trusted issuer (RFC 7523 section 2.1).
    #[serde(rename = "urn:ietf:params:oauth:grant-type:jwt-bearer")]
    JwtBearer,
    /// Another token (RFC 8693).
    #[serde(rename = "urn:ietf:params:oauth:grant-type:token-exchange")]
    TokenExchange,
}

impl GrantType {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::AuthorizationCode, Self::RefreshToken, Self::ClientCredentials, Self::JwtBearer, Self::TokenExchange];

    /// The value of `grant_type`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AuthorizationCode => "authorization_code",
            Self::RefreshToken => "refresh_token",
            Self::ClientCredentials => "client_credentials",
            Self::JwtBearer => "urn:ietf:params:oauth:grant-type:jwt-bearer",
            Self::TokenExchange => "urn:ietf:params:oauth:grant-type:token-exchange",
        }
    }

    /// The grant of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|grant| grant.name() == name)
    }
}

/// A document of the authorization server or of the resource.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Document {
    /// The metadata of the authorization server (RFC 8414), and of an OpenID provider.
    #[default]
    AuthorizationServer,
    /// The metadata of the protected resource (RFC 9728).
    ProtectedResource,
    /// The public keys.
    Jwks,
}

/// An authorization response before it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AuthorizationRedirect {
    pub(crate) target: String,
    pub(crate) params: Vec<(String, String)>,
    pub(crate) issuer: String,
}

impl AuthorizationRedirect {
    pub(crate) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.remove(name);
        self.params.push((name.to_owned(), value.into()));
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.params.retain(|(key, _)| key != name);
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.params.iter().any(|(key, _)| key == name)
    }
}

/// The HTTP response of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OAuthResponse {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// The number of spaces after the body, which are never in memory at once.
    pub(crate) padding: u64,
    /// The wait before the response.
    pub(crate) delay: Duration,
    /// The wait before each byte of the body.
    pub(crate) drip: Duration,
}

impl OAuthResponse {
    pub(crate) fn empty(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Vec::new(), padding: 0, delay: Duration::ZERO, drip: Duration::ZERO }
    }

    pub(crate) fn json(status: u16, value: &Value) -> Self {
        let mut response = Self::empty(status);
        response.body = value.to_string().into_bytes();
        response.with("content-type", "application/json")
    }

    pub(crate) fn redirect(status: u16, target: &str) -> Self {
        Self::empty(status).with("location", target).uncached()
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.set(name, value);
        self
    }

    /// The response must not be cached (RFC 6749 section 5.1).
    pub(crate) fn uncached(self) -> Self {
        self.with("cache-control", "no-store").with("pragma", "no-cache")
    }

    pub(crate) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.headers.retain(|(key, _)| key != name);
        self.headers.push((name.to_owned(), value.into()));
    }

    /// Changes the body, if it is a JSON object.
    pub(crate) fn edit(&mut self, change: impl FnOnce(&mut serde_json::Map<String, Value>)) {
        if let Ok(Value::Object(mut members)) = serde_json::from_slice(&self.body) {
            change(&mut members);
            self.body = Value::Object(members).to_string().into_bytes();
        }
    }

    /// The status and headers, with this body.
    pub(crate) fn head<B>(&self, body: B) -> Response<B> {
        let mut response = Response::new(body);
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        for (name, value) in &self.headers {
            match (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
                (Ok(name), Ok(value)) => drop(response.headers_mut().append(name, value)),
                _ => tracing::warn!(name, "omitted a header that HTTP cannot represent"),
            }
        }
        // Referrers could leak codes and states (RFC 9700 section 4.2.4).
        response.headers_mut().insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        response
    }
}

/// The response to a request that the resource rejects.
#[derive(Debug, Clone, PartialEq)]
pub struct Challenge {
    /// The HTTP status: 400, 401 or 403.
    pub status: u16,
    /// The headers, `www-authenticate` among them, in lower case.
    pub headers: Vec<(String, String)>,
    /// The JSON body.
    pub body: Value,
}

impl Challenge {
    /// Replaces the metadata URL.
    pub(crate) fn set_metadata_url(&mut self, url: &str) {
        for (name, value) in &mut self.headers {
            if name == CHALLENGE_HEADER
                && let Some((before, after)) = value.split_once(METADATA_PARAMETER)
            {
                let rest = after.split_once('"').map_or("", |(_, rest)| rest);
                *value = format!("{before}{METADATA_PARAMETER}{url}\"{rest}");
            }
        }
    }

    /// Adds challenges of other schemes before its own.
    pub(crate) fn precede_with(&mut self, others: &[String]) {
        if let Some((_, own)) = self.headers.iter_mut().find(|(name, _)| name == CHALLENGE_HEADER) {
            *own = others.iter().chain([&*own]).cloned().collect::<Vec<_>>().join(", ");
        }
    }

    /// Writes the scheme of each challenge in lower case.
    pub(crate) fn write_schemes_in_lower_case(&mut self) {
        for (_, value) in self.headers.iter_mut().filter(|(name, _)| name == CHALLENGE_HEADER) {
            let end = value.find(' ').unwrap_or(value.len());
            value[..end].make_ascii_lowercase();
        }
    }

    /// Replaces or removes `WWW-Authenticate`.
    pub(crate) fn replace(&mut self, value: Option<&str>) {
        self.headers.retain(|(name, _)| name != CHALLENGE_HEADER);
        self.headers.extend(value.map(|value| (CHALLENGE_HEADER.to_owned(), value.to_owned())));
    }

    /// The challenge as an HTTP response.
    #[must_use]
    pub fn into_response(self) -> Response<HttpBody> {
        let response = self.response();
        let body = HttpBody::from(response.body.clone());
        response.head(body)
    }

    pub(crate) fn response(self) -> OAuthResponse {
        let mut response = OAuthResponse::json(self.status, &self.body).with("cache-control", "no-store");
        response.headers.extend(self.headers);
        response
    }
}
