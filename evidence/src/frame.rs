//! The shape of recorded evidence: one [`Frame`] per message or connection event, in recording order.

use std::{collections::BTreeMap, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer, ser::Error as _};
use serde_json::{Value, value::RawValue};

/// Which side sent a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From the client to the server.
    ClientToServer,
    /// From the server to the client.
    ServerToClient,
}

/// One message, or one event of a connection, as recorded between client and server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Frame {
    /// Position in the transcript, counted from 0 by each recorder; renumbered when several transcripts are merged.
    pub seq: u64,
    /// Microseconds: of the system's monotonic clock when recorded, since the start of the case in evidence.
    pub at_us: u64,
    /// The name that the scenario gave to the server.
    pub server: String,
    /// The connection: one number per process over stdio, one per HTTP exchange over HTTP.
    pub connection: u64,
    /// Which side sent it.
    pub direction: Direction,
    /// The message or event.
    pub body: Body,
    /// Method, path, status and headers, for frames sent over HTTP.
    // Shared, as is JSON in the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<Arc<Http>>,
}

/// The content of a frame.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Body {
    /// A JSON value; usually one JSON-RPC message.
    // Shared, because the evidence of a session repeats that of its scenarios.
    Json(#[serde(serialize_with = "raw")] Arc<Value>),
    /// Bytes that are not JSON, decoded as UTF-8 with replacement characters.
    Text(String),
    /// An event of the connection.
    // Older evidence has `mark`.
    #[serde(alias = "mark")]
    Event(ConnectionEvent),
}

/// Serializes a value by way of its text, which code of this crate writes: development builds optimize it.
fn raw<S: Serializer>(value: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    text_of(value).map_err(S::Error::custom)?.serialize(serializer)
}

fn text_of(value: &Value) -> Result<Box<RawValue>, serde_json::Error> {
    serde_json::value::to_raw_value(value)
}

/// An event of a connection or of the server's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionEvent {
    /// The connection was opened (over stdio: the process started).
    Opened,
    /// The server's process started a child process, and the child is ready.
    ChildStarted,
    /// An HTTP request or response without a body.
    Bodiless,
    /// The peer closed its end: end of file on standard input, or the client dropped an HTTP exchange before its end.
    ClosedByPeer,
    /// The server closed the connection.
    ClosedByServer,
    /// The server's process received SIGTERM.
    Sigterm,
    /// The server's process is about to exit.
    Exit,
}

/// The HTTP part of a frame. Header names are in lower case; the recorder redacts secret values.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Http {
    /// The request's method, on frames from the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The request's path and query, on frames from the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The status, on frames from the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The headers.
    // Shared, because the events of a stream have the same, and many responses.
    #[serde(skip_serializing_if = "has_none")]
    pub headers: Arc<BTreeMap<String, String>>,
    /// The name of the server-sent event that carried the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// The id of the server-sent event that carried the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_id: Option<String>,
    /// The `retry` of the server-sent event as sent: milliseconds to wait before reconnecting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<String>,
}

impl Http {
    /// The headers, to change them here alone.
    pub fn headers_mut(&mut self) -> &mut BTreeMap<String, String> {
        Arc::make_mut(&mut self.headers)
    }
}

fn has_none(headers: &BTreeMap<String, String>) -> bool {
    headers.is_empty()
}

impl Body {
    /// The body of a JSON value.
    #[must_use]
    pub fn json(value: Value) -> Self {
        Self::Json(Arc::new(value))
    }
}

impl Frame {
    /// The JSON value of the body, if it is JSON.
    #[must_use]
    pub fn json(&self) -> Option<&Value> {
        match &self.body {
            Body::Json(value) => Some(value),
            Body::Text(_) | Body::Event(_) => None,
        }
    }

    /// The JSON-RPC method of a request or notification.
    #[must_use]
    pub fn method(&self) -> Option<&str> {
        self.json()?.get("method")?.as_str()
    }

    /// The JSON-RPC id of a request or response.
    #[must_use]
    pub fn id(&self) -> Option<&Value> {
        self.json()?.get("id")
    }

    /// Whether it is a JSON-RPC request: a method and an id.
    #[must_use]
    pub fn is_request(&self) -> bool {
        self.method().is_some() && self.id().is_some()
    }

    /// Whether it is a JSON-RPC notification: a method and no id.
    #[must_use]
    pub fn is_notification(&self) -> bool {
        self.method().is_some() && self.id().is_none()
    }

    /// Whether it is a JSON-RPC response: a result or an error, and no method.
    #[must_use]
    pub fn is_response(&self) -> bool {
        self.json().is_some_and(|value| {
            value.get("method").is_none() && (value.get("result").is_some() || value.get("error").is_some())
        })
    }

    /// Whether the client sent it.
    #[must_use]
    pub fn from_client(&self) -> bool {
        self.direction == Direction::ClientToServer
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_events_under_their_old_name() {
        for key in ["mark", "event"] {
            let body: Body = serde_json::from_value(json!({ key: "closed-by-peer" })).unwrap();
            assert_eq!(body, Body::Event(ConnectionEvent::ClosedByPeer));
        }
    }
}
