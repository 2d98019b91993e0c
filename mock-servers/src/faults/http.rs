//! Faults of the HTTP response: status, headers and session.

use std::collections::BTreeMap;

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FaultAction, FaultContext, FaultHooks, FaultStep, ParameterProblem};
use crate::one_or_many;

/// Responds with this HTTP status instead of a JSON-RPC message (over stdio: as `silence`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpStatus {
    /// The status, 200 to 599.
    pub status: u16,
    /// The headers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The body.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
}

impl HttpStatus {
    pub(super) fn problems(&self) -> Vec<ParameterProblem> {
        final_status(self.status).into_iter().chain(invalid_names("headers", self.headers.keys())).collect()
    }

    /// A status with one header and without a body.
    fn with_header(status: u16, name: &str, value: String) -> Self {
        Self { status, headers: BTreeMap::from([(name.to_owned(), value)]), body: String::new() }
    }
}

impl FaultHooks for HttpStatus {
    fn action(&self, _: &mut FaultContext<'_>) -> FaultAction {
        FaultAction::Settle(FaultStep::Status(self.clone()))
    }
}

/// The names that cannot be those of headers.
fn invalid_names<'a>(key: &str, names: impl Iterator<Item = &'a String>) -> impl Iterator<Item = ParameterProblem> {
    let invalid = names.filter(|name| HeaderName::from_bytes(name.as_bytes()).is_err());
    invalid.map(move |name| {
        let message = format!("`{name}` is not the name of a header");
        let help = "letters, digits and hyphens, as in `mcp-session-id`";
        ParameterProblem::key(&[key, name], message, help)
    })
}

fn final_status(status: u16) -> Vec<ParameterProblem> {
    let message = || format!("{status} is not a status that ends an exchange");
    let problem = || ParameterProblem::value("status", message(), "write one from 200 to 599");
    (!(200..=599).contains(&status)).then(problem).into_iter().collect()
}

/// Responds with an HTTP status and `Retry-After` (RFC 9110, section 10.2.3; over stdio: as `silence`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct RetryAfter {
    /// The status, such as 429 or 503 [default: 429].
    pub status: u16,
    /// The value of the header: a number of seconds or an HTTP date, or an invalid one.
    pub value: String,
}

impl Default for RetryAfter {
    fn default() -> Self {
        Self { status: 429, value: "1".to_owned() }
    }
}

impl RetryAfter {
    pub(super) fn problems(&self) -> Vec<ParameterProblem> {
        final_status(self.status)
    }
}

impl FaultHooks for RetryAfter {
    fn action(&self, context: &mut FaultContext<'_>) -> FaultAction {
        HttpStatus::with_header(self.status, "retry-after", self.value.clone()).action(context)
    }
}

/// Responds with an HTTP redirect, to the same origin or to another (over stdio: as `silence`). A client must not send
/// its credentials to another origin (RFC 9110, section 15.4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Redirect {
    /// The status [default: 307]. 307 and 308 keep the method and the body, 301, 302 and 303 do not.
    pub status: u16,
    /// The target.
    pub to: RedirectTarget,
}

/// The target of a redirect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RedirectTarget {
    /// This path on the server itself, such as `/mcp?again`.
    SameOrigin(String),
    /// This path on the server under its other name, which is another origin: `localhost` for `127.0.0.1`, and the
    /// reverse.
    OtherOrigin(String),
    /// This value of `Location`, unchanged.
    Location(String),
}

impl Default for Redirect {
    fn default() -> Self {
        Self { status: 307, to: RedirectTarget::SameOrigin("/mcp".to_owned()) }
    }
}

impl Redirect {
    pub(super) fn problems(&self) -> Vec<ParameterProblem> {
        let message = || format!("{} is not the status of a redirect", self.status);
        let problem = || ParameterProblem::value("status", message(), "write one from 300 to 399, as in `307`");
        (!(300..=399).contains(&self.status)).then(problem).into_iter().collect()
    }

    fn location(&self, host: Option<&str>) -> String {
        let host = host.unwrap_or("127.0.0.1");
        match &self.to {
            RedirectTarget::SameOrigin(path) => format!("http://{host}{path}"),
            RedirectTarget::OtherOrigin(path) => format!("http://{}{path}", alias(host)),
            RedirectTarget::Location(location) => location.clone(),
        }
    }
}

impl FaultHooks for Redirect {
    fn action(&self, context: &mut FaultContext<'_>) -> FaultAction {
        HttpStatus::with_header(self.status, "location", self.location(context.host)).action(context)
    }
}

/// The same machine under another name.
fn alias(host: &str) -> String {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (name, format!(":{port}")),
        _ => (host, String::new()),
    };
    let other = if name.eq_ignore_ascii_case("localhost") { "127.0.0.1" } else { "localhost" };
    format!("{other}{port}")
}

/// Terminates the session and responds that it is unknown: over HTTP with 404, from now on (2025-03-26 to 2025-11-25,
/// transports, session management). Over stdio the server loses its initialized state.
#[derive(JsonSchema)]
pub(super) struct SessionExpiry;

impl FaultHooks for SessionExpiry {
    fn action(&self, _: &mut FaultContext<'_>) -> FaultAction {
        FaultAction::ForgetSession
    }
}

/// Responds over HTTP with this content type (2025-03-26 and later, transports, sending messages). A value that HTTP
/// cannot represent is omitted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WrongContentType(pub String);

impl FaultHooks for WrongContentType {
    fn content_type(&self) -> Option<HeaderValue> {
        HeaderValue::from_str(&self.0).ok()
    }
}

/// Changes the status and the headers of the HTTP response, and keeps its body. A value that HTTP cannot represent is
/// omitted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct HttpHead {
    /// The status, 200 to 599 [default: unchanged].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Headers to set.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
    /// Names of headers to remove.
    #[serde(with = "one_or_many", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "one_or_many::OneOrManySchema<String>")]
    pub remove: Vec<String>,
}

impl HttpHead {
    pub(super) fn problems(&self) -> Vec<ParameterProblem> {
        let status = self.status.into_iter().flat_map(final_status);
        let names = invalid_names("set", self.set.keys());
        let empty = *self == Self::default();
        let empty = empty.then(|| ParameterProblem::key(&[], "change is empty", "add `status`, `set` or `remove`"));
        status.chain(names).chain(empty).collect()
    }

    /// Changes the head of a response.
    pub(crate) fn apply(&self, status: &mut StatusCode, headers: &mut HeaderMap) {
        if let Some(wanted) = self.status.and_then(|status| StatusCode::from_u16(status).ok()) {
            *status = wanted;
        }
        for (name, value) in &self.set {
            if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
                headers.insert(name, value);
            }
        }
        for name in &self.remove {
            headers.remove(name);
        }
    }
}

impl FaultHooks for HttpHead {
    fn http_head(&self) -> Option<&HttpHead> {
        Some(self)
    }
}
