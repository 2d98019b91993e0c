//! Error responses of the endpoints.

use serde_json::json;

use super::sanitize::sanitized;
use crate::oauth_messages::OAuthResponse;

/// An error response (RFC 6749 section 5.2, and the specifications that add codes).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OAuthError {
    pub(crate) status: u16,
    pub(crate) error: String,
    pub(crate) description: String,
    pub(crate) headers: Vec<(String, String)>,
}

impl OAuthError {
    pub(crate) fn new(error: &str, description: impl AsRef<str>) -> Self {
        Self { status: 400, error: error.to_owned(), description: sanitized(description.as_ref()), headers: Vec::new() }
    }

    /// Client authentication failed. The challenge is required for the `Authorization` header (RFC 6749 section 5.2)
    /// and harmless otherwise.
    pub(crate) fn client(description: impl AsRef<str>) -> Self {
        let mut error = Self::new("invalid_client", description);
        error.status = 401;
        error.headers.push(("www-authenticate".to_owned(), "Basic realm=\"mock\"".to_owned()));
        error
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    pub(crate) fn response(&self) -> OAuthResponse {
        let body = json!({"error": self.error, "error_description": self.description});
        let mut response = OAuthResponse::json(self.status, &body).uncached();
        for (name, value) in &self.headers {
            response.set(name, value.clone());
        }
        response
    }
}
