//! Encoded requests whose id is replaced in place.

use client::RequestHead;
use serde_json::{Map, Value, json};

/// Number of digits of an id. The width is fixed, so that a new id does not move other bytes.
pub(super) const ID_DIGITS: usize = 10;

/// The first id. Ids of the connection that performed the handshake are smaller.
pub(super) const FIRST_ID: u64 = 1_000_000_000;

/// A request as bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EncodedRequest {
    bytes: Vec<u8>,
    /// Position of the id.
    id_at: usize,
}

impl EncodedRequest {
    /// A request as one line.
    pub(super) fn line(method: &str, params: &Map<String, Value>) -> Self {
        let mut request = Self::message(method, params);
        request.bytes.push(b'\n');
        request
    }

    /// A POST request with its head.
    pub(super) fn post(head: &RequestHead, method: &str, params: &Map<String, Value>) -> Self {
        let Self { bytes: body, id_at } = Self::message(method, params);
        let mut bytes = Vec::with_capacity(1_024 + body.len());
        bytes.extend_from_slice(b"POST ");
        bytes.extend_from_slice(head.url.path().as_bytes());
        if let Some(query) = head.url.query() {
            bytes.push(b'?');
            bytes.extend_from_slice(query.as_bytes());
        }
        bytes.extend_from_slice(b" HTTP/1.1\r\nhost: ");
        let host = head.url.host_str().unwrap_or("localhost");
        bytes.extend_from_slice(host.as_bytes());
        if let Some(port) = head.url.port() {
            bytes.extend_from_slice(format!(":{port}").as_bytes());
        }
        for (name, value) in &head.headers {
            if name == "host" || name == "content-length" {
                continue;
            }
            bytes.extend_from_slice(b"\r\n");
            bytes.extend_from_slice(name.as_str().as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value.as_bytes());
        }
        bytes.extend_from_slice(format!("\r\ncontent-length: {}\r\n\r\n", body.len()).as_bytes());
        let id_at = bytes.len() + id_at;
        bytes.extend_from_slice(&body);
        Self { bytes, id_at }
    }

    /// The id is the first member, so that it cannot be confused with a number in the parameters.
    fn message(method: &str, params: &Map<String, Value>) -> Self {
        let before = r#"{"jsonrpc":"2.0","id":"#;
        let after = json!({ "method": method, "params": params }).to_string();
        let mut bytes = before.as_bytes().to_vec();
        let id_at = bytes.len();
        bytes.extend_from_slice(FIRST_ID.to_string().as_bytes());
        bytes.push(b',');
        bytes.extend_from_slice(&after.as_bytes()[1..]);
        Self { bytes, id_at }
    }

    /// Replaces the id, which must have [`ID_DIGITS`] digits.
    pub(super) fn set_id(&mut self, id: u64) {
        write_digits(&mut self.bytes[self.id_at..self.id_at + ID_DIGITS], id);
    }

    /// The bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Writes the last digits of a number.
fn write_digits(digits: &mut [u8], mut number: u64) {
    for digit in digits.iter_mut().rev() {
        // The remainder is a digit.
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params() -> Map<String, Value> {
        json!({ "name": "echo", "arguments": { "id": FIRST_ID } }).as_object().cloned().unwrap()
    }

    #[test]
    fn a_new_id_changes_only_the_id() {
        let mut line = EncodedRequest::line("tools/call", &params());
        line.set_id(1_234_567_890);
        let read: Value = serde_json::from_slice(line.bytes()).unwrap();
        let expected = json!({ "jsonrpc": "2.0", "id": 1_234_567_890, "method": "tools/call", "params": params() });
        assert_eq!(read, expected);
        assert!(line.bytes().ends_with(b"}\n"));
    }

    #[test]
    fn a_post_request_has_host_headers_and_length() {
        let mut headers = reqwest::header::HeaderMap::new();
        headers.insert("mcp-method", "tools/call".parse().unwrap());
        let url = "http://127.0.0.1:81/mcp?a=b".parse().unwrap();
        let mut post = EncodedRequest::post(&RequestHead { url, socket: None, headers }, "tools/call", &params());
        post.set_id(9_876_543_210);
        let text = String::from_utf8(post.bytes().to_vec()).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(
            head.starts_with("POST /mcp?a=b HTTP/1.1\r\nhost: 127.0.0.1:81\r\nmcp-method: tools/call\r\n"),
            "{head}"
        );
        assert!(head.ends_with(&format!("content-length: {}", body.len())), "{head}");
        assert_eq!(serde_json::from_str::<Value>(body).unwrap()["id"], 9_876_543_210_u64);
    }
}
