//! What crossed the wire: one [`Frame`] per message, in the order in which the recorder saw them.
//!
//! This module owns the shape of a recorded frame and nothing else: [`crate::record`] scrubs and stores frames, the
//! fronts produce them, and checks read them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Which way a frame travelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From the client to the server.
    ClientToServer,
    /// From the server to the client.
    ServerToClient,
}

/// One message, or one event of the connection, as it was seen on the wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Frame {
    /// Position in the transcript, counted from 0 by each recorder; renumbered when several transcripts are merged.
    pub seq: u64,
    /// Microseconds: of the system's monotonic clock when recorded, since the start of the case in evidence.
    pub at_us: u64,
    /// The name that the scenario gave to the server at the other end.
    pub server: String,
    /// Which connection carried it: one number per process run over stdio, per HTTP exchange over HTTP.
    pub connection: u64,
    /// Which way it travelled.
    pub direction: Direction,
    /// What it was.
    pub body: Body,
    /// The HTTP envelope, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<Http>,
}

/// What a frame carried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Body {
    /// A JSON value; usually one JSON-RPC message.
    Json(Value),
    /// Bytes that are not JSON, decoded as UTF-8 with replacement characters.
    Text(String),
    /// Something that happened to the connection itself.
    Mark(Mark),
}

/// Something that happened to a connection or to the server's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// The connection was opened (over stdio: the process started).
    Opened,
    /// The server's process has started a process of its own, and that one is ready.
    ChildStarted,
    /// A request or a reply without a body: only the HTTP envelope says something.
    Bodiless,
    /// The peer closed its end: end of file on standard input, or the client dropped an HTTP exchange before its end.
    ClosedByPeer,
    /// The server ended the connection of its own accord.
    ClosedByServer,
    /// The server's process received SIGTERM.
    Sigterm,
    /// The server's process is about to exit.
    Exit,
}

/// The HTTP envelope of a frame. Header names are in lower case; secret values are replaced by the recorder.
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
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The name of the server-sent event that carried the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// The id of the server-sent event that carried the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_id: Option<String>,
}

impl Frame {
    /// The JSON value it carried, if it was JSON.
    #[must_use]
    pub fn json(&self) -> Option<&Value> {
        match &self.body {
            Body::Json(value) => Some(value),
            _ => None,
        }
    }

    /// The JSON-RPC method, of a request or a notification.
    #[must_use]
    pub fn method(&self) -> Option<&str> {
        self.json()?.get("method")?.as_str()
    }

    /// The JSON-RPC id, of a request or a response.
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
