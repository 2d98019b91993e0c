//! Received messages of a client.

use evidence::{Body, Frame, Http};
use serde::Serialize;
use serde_json::Value;

/// Maximum length of a message in an error.
const MAX_SHOWN_CHARS: usize = 200;

/// One recorded message from the client, with redacted secrets, and truncated if it was too large.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Received {
    /// The position of its frame in the record. The messages of a batch share one.
    pub seq: u64,
    /// The time of receipt, in microseconds of the system's monotonic clock.
    pub at_us: u64,
    /// The message.
    pub message: Value,
    /// The HTTP envelope of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<Http>,
}

impl Received {
    /// The client's messages of a frame: each message of a batch.
    pub(super) fn from_frame(frame: &Frame) -> Vec<Self> {
        let Body::Json(body) = &frame.body else { return Vec::new() };
        if !frame.from_client() {
            return Vec::new();
        }
        let one = |message: &Value| Self {
            seq: frame.seq,
            at_us: frame.at_us,
            message: message.clone(),
            http: frame.http.as_deref().cloned(),
        };
        match &**body {
            Value::Array(batch) => batch.iter().map(one).collect(),
            single => vec![one(single)],
        }
    }

    /// The JSON-RPC method; `None` for a response.
    #[must_use]
    pub fn method(&self) -> Option<&str> {
        self.message.get("method")?.as_str()
    }

    /// The parameters.
    #[must_use]
    pub fn params(&self) -> Option<&Value> {
        self.message.get("params")
    }

    /// The tool of a `tools/call`.
    #[must_use]
    pub fn tool(&self) -> Option<&str> {
        (self.method() == Some("tools/call")).then(|| self.params()?.get("name")?.as_str()).flatten()
    }

    /// The arguments of a `tools/call` or a `prompts/get`.
    #[must_use]
    pub fn arguments(&self) -> Option<&Value> {
        self.params()?.get("arguments")
    }

    /// A header of the HTTP request of the message.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.http.as_ref()?.headers.get(&name.to_ascii_lowercase()).map(String::as_str)
    }

    /// The message in one line, for errors.
    pub(super) fn shown(&self) -> String {
        let (what, rest) = match self.method() {
            Some(method) => (method, self.params().filter(|params| has_members(params))),
            None => ("a response", Some(&self.message)),
        };
        rest.map_or_else(|| what.to_owned(), |rest| format!("{what} {}", brief(rest)))
    }
}

fn has_members(params: &Value) -> bool {
    params.as_object().is_none_or(|members| !members.is_empty())
}

/// A value in one line, truncated if it is long. JSON escapes control characters.
pub(super) fn brief(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
