//! One JSON-RPC message of a frame. A batch (2025-03-26) is taken apart, so that checks need not know of it.

use mock_servers::{Direction, Frame};
use serde_json::Value;

/// Where a request of 2026-07-28 says which revision it speaks (basic/index#meta).
const REVISION_OF_REQUEST: &str = "/params/_meta/io.modelcontextprotocol~1protocolVersion";

/// One message, and the frame that carried it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message<'a> {
    /// The frame.
    pub(super) frame: &'a Frame,
    /// The message itself.
    pub(super) json: &'a Value,
}

impl<'a> Message<'a> {
    /// The messages of a frame; none where it carried no JSON.
    pub(super) fn all_of(frame: &'a Frame) -> impl Iterator<Item = Self> {
        let (batch, single) = match frame.json() {
            Some(Value::Array(messages)) => (messages.as_slice(), None),
            single => (&[][..], single),
        };
        batch.iter().chain(single).map(move |json| Self { frame, json })
    }

    pub(super) fn seq(&self) -> u64 {
        self.frame.seq
    }

    pub(super) fn at_us(&self) -> u64 {
        self.frame.at_us
    }

    pub(super) fn by_client(&self) -> bool {
        self.frame.direction == Direction::ClientToServer
    }

    pub(super) fn method(&self) -> Option<&'a str> {
        self.json.get("method")?.as_str()
    }

    pub(super) fn id(&self) -> Option<&'a Value> {
        self.json.get("id")
    }

    pub(super) fn params(&self) -> Option<&'a Value> {
        self.json.get("params")
    }

    pub(super) fn result(&self) -> Option<&'a Value> {
        self.json.get("result")
    }

    pub(super) fn is_request(&self) -> bool {
        self.method().is_some() && self.id().is_some()
    }

    pub(super) fn is(&self, method: &str) -> bool {
        self.method() == Some(method)
    }

    /// Whether it answers something, rightly shaped or not.
    pub(super) fn is_response(&self) -> bool {
        self.json.get("method").is_none() && (self.result().is_some() || self.json.get("error").is_some())
    }

    /// Whether it answers something in a shape that its receiver has to understand. What is not so shaped may be
    /// dropped by a good client as if it had never come.
    pub(super) fn is_sound_response(&self) -> bool {
        let jsonrpc = self.json.get("jsonrpc").and_then(Value::as_str) == Some("2.0");
        let result = self.result().is_some_and(Value::is_object);
        let error = self.json.get("error").is_some_and(Value::is_object);
        self.json.get("method").is_none() && jsonrpc && (result != error)
    }

    /// Whether it is a request of 2026-07-28. A client of both eras begins with one to find out what the server is
    /// (2026-07-28, basic/versioning), so it may stand before any handshake.
    pub(super) fn is_modern(&self) -> bool {
        self.is("server/discover") || self.revision().is_some()
    }

    /// The revision that a request of 2026-07-28 carries.
    pub(super) fn revision(&self) -> Option<&'a Value> {
        self.json.pointer(REVISION_OF_REQUEST)
    }

    /// The tool that a `tools/call` names.
    pub(super) fn tool(&self) -> Option<&'a str> {
        if !self.is("tools/call") || !self.is_request() {
            return None;
        }
        self.params()?.get("name")?.as_str()
    }

    /// The id of the request that a `notifications/cancelled` is about.
    pub(super) fn cancels(&self) -> Option<&'a Value> {
        if !self.is("notifications/cancelled") {
            return None;
        }
        self.params()?.get("requestId")
    }
}
