//! The HTTP envelope of frames.

use serde_json::Value;

use super::{Body, ConnectionFrames, Frame};

/// The header with the id of a session (2025-03-26, basic/transports#session-management).
pub(in crate::judge) const SESSION_HEADER: &str = "mcp-session-id";
/// The header with the revision (2025-06-18, basic/transports#protocol-version-header).
pub(in crate::judge) const REVISION_HEADER: &str = "mcp-protocol-version";

impl<'a> ConnectionFrames<'a> {
    /// The HTTP request of the client.
    pub(in crate::judge) fn request(&self) -> Option<&'a Frame> {
        self.frames.iter().copied().find(|frame| frame.from_client() && method(frame).is_some())
    }

    /// The id of the event after which the request resumes a stream (2025-11-25, basic/transports, resumability).
    pub(in crate::judge) fn resumes_after(&self) -> Option<&'a str> {
        header(self.request()?, "last-event-id")
    }

    /// A header of the server's response.
    pub(in crate::judge) fn response_header(&self, name: &str) -> Option<&'a str> {
        self.frames.iter().filter(|frame| !frame.from_client()).find_map(|frame| header(frame, name))
    }

    /// The HTTP status of the server's response.
    pub(in crate::judge) fn status(&self) -> Option<u16> {
        self.frames.iter().find_map(|frame| status(frame))
    }

    /// The frame number of the `endpoint` event of HTTP+SSE, and its URI (2024-11-05, basic/transports#http-with-sse).
    pub(in crate::judge) fn endpoint(&self) -> Option<(u64, &'a str)> {
        let announced = self.frames.iter().find(|frame| {
            !frame.from_client() && frame.http.as_ref().is_some_and(|http| http.event.as_deref() == Some("endpoint"))
        })?;
        let uri = match &announced.body {
            Body::Text(text) => Some(text.trim()),
            Body::Json(value) => value.as_str(),
            Body::Event(_) => None,
        };
        Some((announced.seq, uri?))
    }
}

/// The HTTP method of a frame of the client.
pub(in crate::judge) fn method(frame: &Frame) -> Option<&str> {
    super::count_work();
    frame.http.as_ref()?.method.as_deref()
}

/// The path of a frame of the client, without its query.
pub(in crate::judge) fn path(frame: &Frame) -> Option<&str> {
    frame.http.as_ref()?.path.as_deref()?.split('?').next()
}

/// The HTTP status of a frame of a server.
pub(in crate::judge) fn status(frame: &Frame) -> Option<u16> {
    super::count_work();
    frame.http.as_ref()?.status
}

/// The id of the server-sent event of a frame.
pub(in crate::judge) fn event_id(frame: &Frame) -> Option<&str> {
    frame.http.as_ref()?.event_id.as_deref()
}

/// An HTTP header of a frame.
pub(in crate::judge) fn header<'a>(frame: &'a Frame, name: &str) -> Option<&'a str> {
    super::count_work();
    frame.http.as_ref()?.headers.get(name).map(|value| value.trim())
}

/// The media type of a `Content-Type`, without parameters, in lower case.
pub(in crate::judge) fn media_type(frame: &Frame) -> Option<String> {
    let value = header(frame, "content-type")?;
    Some(value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
}

/// Whether a response is a stream of events.
pub(in crate::judge) fn is_stream(frame: &Frame) -> bool {
    media_type(frame).as_deref() == Some("text/event-stream")
}

/// Whether a frame is a POST with JSON-RPC, and not one to an authorization server, for example.
pub(in crate::judge) fn is_rpc_post(frame: &Frame) -> bool {
    let rpc = |value: &Value| value.get("jsonrpc").is_some() || value.get("method").is_some();
    let holds_rpc = match frame.json() {
        Some(Value::Array(messages)) => messages.iter().any(rpc),
        Some(value) => rpc(value),
        None => false,
    };
    frame.from_client() && method(frame) == Some("POST") && holds_rpc
}
