//! What the server answers, before it becomes bytes: lies are told about values of this module.

use std::time::Duration;

use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use serde_json::{Value, json};

use super::params::short;

/// An HTTP answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Blanks behind the body, which JSON allows: a document of any size that takes no memory here.
    pub(crate) padding: u64,
    /// How long the answer waits.
    pub(crate) delay: Duration,
    /// How long it waits before each byte of the body.
    pub(crate) drip: Duration,
}

impl Answer {
    pub(crate) fn empty(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Vec::new(), padding: 0, delay: Duration::ZERO, drip: Duration::ZERO }
    }

    pub(crate) fn json(status: u16, value: &Value) -> Self {
        let mut answer = Self::empty(status);
        answer.body = value.to_string().into_bytes();
        answer.with("content-type", "application/json")
    }

    /// A page for the user, who is not there.
    pub(crate) fn page(status: u16, words: &str) -> Self {
        let words = short(words).replace(['<', '>', '&'], " ");
        let mut answer = Self::empty(status);
        answer.body = format!("<!doctype html><title>mock authorization server</title><p>{words}</p>\n").into_bytes();
        answer.with("content-type", "text/html; charset=utf-8").uncached()
    }

    pub(crate) fn redirect(status: u16, target: &str) -> Self {
        Self::empty(status).with("location", target).uncached()
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.set(name, value);
        self
    }

    /// Nobody may keep it (RFC 6749 section 5.1).
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

    /// The head of the answer; the front adds the body.
    pub(crate) fn head<B>(&self, body: B) -> Response<B> {
        let mut response = Response::new(body);
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        for (name, value) in &self.headers {
            match (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
                (Ok(name), Ok(value)) => drop(response.headers_mut().append(name, value)),
                _ => tracing::warn!(name, "a header that HTTP cannot express is left out"),
            }
        }
        // Whatever is said here is of no use to anything but the client that asked (RFC 9700 section 4.2.4).
        response.headers_mut().insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        response
    }
}

/// An error in the words of the standards (RFC 6749 section 5.2, and those that add codes to it).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) error: String,
    pub(crate) description: String,
    pub(crate) headers: Vec<(String, String)>,
}

impl Refusal {
    pub(crate) fn new(error: &str, description: impl AsRef<str>) -> Self {
        Self { status: 400, error: error.to_owned(), description: short(description.as_ref()), headers: Vec::new() }
    }

    /// The client could not be authenticated. Who tried by the `Authorization` header is told how (RFC 6749
    /// section 5.2); it does no harm to tell the others as well.
    pub(crate) fn client(description: impl AsRef<str>) -> Self {
        let mut refusal = Self::new("invalid_client", description);
        refusal.status = 401;
        refusal.headers.push(("www-authenticate".to_owned(), "Basic realm=\"mock\"".to_owned()));
        refusal
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    pub(crate) fn answer(&self) -> Answer {
        let body = json!({"error": self.error, "error_description": self.description});
        let mut answer = Answer::json(self.status, &body).uncached();
        for (name, value) in &self.headers {
            answer.set(name, value.clone());
        }
        answer
    }
}
