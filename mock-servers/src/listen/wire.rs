//! Bodies, events and headers of all HTTP transports.

use std::{collections::BTreeMap, fmt, time::Duration};

use axum::body::Bytes;
use http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Body as _, Incoming};

use crate::engine::DispatchId;

/// Maximum size of a request body.
const MAX_REQUEST_BYTES: usize = 64 * 1024 * 1024;

/// The whole body, or the status and the reason for an invalid one.
pub(crate) async fn read(body: Incoming) -> Result<Bytes, (StatusCode, &'static str)> {
    const TOO_LARGE: (StatusCode, &str) = (StatusCode::PAYLOAD_TOO_LARGE, "the body is larger than 64 MiB");
    // A body with a length above the limit is rejected without reading it.
    if body.size_hint().lower() > MAX_REQUEST_BYTES as u64 {
        return Err(TOO_LARGE);
    }
    match Limited::new(body, MAX_REQUEST_BYTES).collect().await {
        Ok(whole) => Ok(whole.to_bytes()),
        Err(cause) if cause.is::<LengthLimitError>() => Err(TOO_LARGE),
        // It is truncated, or its chunks are invalid.
        Err(_) => Err((StatusCode::BAD_REQUEST, "the body is truncated, or its chunks are invalid")),
    }
}

/// Identifier of an event: its stream, and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventId {
    pub(crate) stream: DispatchId,
    pub(crate) number: u64,
}

impl fmt::Display for EventId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // With letters of both cases, as clients must return it unchanged.
        write!(formatter, "Stream{}-{}", self.stream.0, self.number)
    }
}

impl EventId {
    /// Parses an event id; `None` if no server like this one can have sent it.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (stream, number) = text.strip_prefix("Stream")?.split_once('-')?;
        let id = Self { stream: DispatchId(stream.parse().ok()?), number: number.parse().ok()? };
        // Numbers have one spelling: no sign, no leading zeros.
        (id.to_string() == text).then_some(id)
    }
}

/// A server-sent event. Each of the three line ends of the format ends a line of the data (HTML, server-sent events,
/// parsing an event stream). Unescaped, the rest would become another field.
pub(crate) fn event(id: Option<EventId>, name: &str, data: &str) -> String {
    let mut text = String::with_capacity(data.len() + name.len() + 48);
    text.push_str("event: ");
    text.push_str(name);
    text.push('\n');
    if let Some(id) = id {
        push_id(&mut text, id);
    }
    for line in data.split("\r\n").flat_map(|part| part.split(['\r', '\n'])) {
        text.push_str("data: ");
        text.push_str(line);
        text.push('\n');
    }
    text.push('\n');
    text
}

/// A server-sent event that contains only id and `retry`.
pub(crate) fn empty_event(id: EventId, with_data: bool, retry: Option<Duration>) -> String {
    let mut text = String::new();
    push_id(&mut text, id);
    if let Some(retry) = retry {
        text.push_str("retry: ");
        text.push_str(&retry.as_millis().to_string());
        text.push('\n');
    }
    text.push_str(if with_data { "data: \n\n" } else { "\n" });
    text
}

fn push_id(text: &mut String, id: EventId) {
    text.push_str("id: ");
    text.push_str(&id.to_string());
    text.push('\n');
}

/// The headers as they are recorded.
pub(crate) fn recorded(headers: &HeaderMap) -> BTreeMap<String, String> {
    let mut recorded: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        recorded
            .entry(name.as_str().to_owned())
            .and_modify(|all| {
                all.push_str(", ");
                all.push_str(&value);
            })
            .or_insert_with(|| value.into_owned());
    }
    recorded
}

/// The value of a header as text.
pub(crate) fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Whether the client accepts this content type by name. A wildcard does not count.
pub(crate) fn accepts(headers: &HeaderMap, content_type: &str) -> bool {
    headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|all| all.split(','))
        .any(|range| range.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(content_type))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn splits_event_data_into_lines() {
        assert_eq!(event(None, "message", "{}"), "event: message\ndata: {}\n\n");
        assert_eq!(event(None, "message", "a\r\nb"), "event: message\ndata: a\ndata: b\n\n");
        assert_eq!(event(None, "message", "a\r\revent: b"), "event: message\ndata: a\ndata: \ndata: event: b\n\n");
    }

    #[test]
    fn events_can_be_named_and_found_again() {
        let id = EventId { stream: DispatchId(17), number: 3 };
        assert_eq!(event(Some(id), "message", "{}"), "event: message\nid: Stream17-3\ndata: {}\n\n");
        assert_eq!(empty_event(id, true, None), "id: Stream17-3\ndata: \n\n");
        assert_eq!(empty_event(id, false, Some(Duration::from_millis(500))), "id: Stream17-3\nretry: 500\n\n");
        assert_eq!(EventId::read("Stream17-3"), Some(id));
        for foreign in ["", "17", "17-", "-3", "017-3", "+17-3", "17-3-1", "a-b", "17-99999999999999999999"] {
            assert_eq!(EventId::read(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn reads_accept_lists() {
        let accept = headers(&[("accept", "application/json;q=0.5, Text/Event-Stream")]);
        assert!(accepts(&accept, "application/json") && accepts(&accept, "text/event-stream"));
        assert!(!accepts(&headers(&[("accept", "text/html, */*")]), "application/json"));
        assert!(!accepts(&headers(&[]), "application/json"));
    }
}
