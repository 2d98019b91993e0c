//! What HTTP fronts share: bodies, events and headers.

use std::collections::BTreeMap;

use axum::body::Bytes;
use http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Body as _, Incoming};

/// The largest body of a request that is read.
const LARGEST_REQUEST: usize = 64 * 1024 * 1024;

/// The whole body, or the status for one that cannot be had.
pub(crate) async fn read(body: Incoming) -> Result<Bytes, StatusCode> {
    // One that says how large it is need not be read to be refused.
    if body.size_hint().lower() > LARGEST_REQUEST as u64 {
        return Err(StatusCode::PAYLOAD_TOO_LARGE);
    }
    match Limited::new(body, LARGEST_REQUEST).collect().await {
        Ok(whole) => Ok(whole.to_bytes()),
        Err(cause) if cause.is::<LengthLimitError>() => Err(StatusCode::PAYLOAD_TOO_LARGE),
        // It broke off, or its chunks are none.
        Err(_) => Err(StatusCode::BAD_REQUEST),
    }
}

/// A server-sent event.
pub(crate) fn event(name: &str, data: &str) -> String {
    let mut text = format!("event: {name}\n");
    for line in data.split('\n') {
        text.push_str("data: ");
        text.push_str(line.trim_end_matches('\r'));
        text.push('\n');
    }
    text.push('\n');
    text
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

/// The text of a header.
pub(crate) fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Whether the client lists this content type: it must do so by name, so a wildcard does not count.
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
        assert_eq!(event("message", "{}"), "event: message\ndata: {}\n\n");
        assert_eq!(event("message", "a\r\nb"), "event: message\ndata: a\ndata: b\n\n");
    }

    #[test]
    fn reads_accept_lists() {
        let accept = headers(&[("accept", "application/json;q=0.5, Text/Event-Stream")]);
        assert!(accepts(&accept, "application/json") && accepts(&accept, "text/event-stream"));
        assert!(!accepts(&headers(&[("accept", "text/html, */*")]), "application/json"));
        assert!(!accepts(&headers(&[]), "application/json"));
    }
}
