//! Encoded requests, of which only the id and the placeholders are filled for each call.

use std::{io, sync::Arc};

use client::RequestHead;
use http::Uri;
use serde_json::{Map, Value};

use crate::bench::{
    data::DataSet,
    iteration::Position,
    template::{Template, Values},
};

/// The first id. Ids of the connection that performed the handshake are smaller.
pub(super) const FIRST_ID: u64 = 1_000_000_000;

/// Width of a Content-Length that is filled later. Blanks precede it (RFC 9110, 5.5).
const LENGTH_DIGITS: usize = 10;

/// A request as bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EncodedRequest {
    template: Template,
    /// Positions after the Content-Length and of the body, if the length differs between requests.
    length: Option<(usize, usize)>,
}

impl EncodedRequest {
    /// A request as one line.
    pub(super) fn line(method: &str, params: Template) -> Self {
        let mut template = message(method, params);
        template.push(b"\n");
        Self { template, length: None }
    }

    /// The body of a POST request.
    pub(super) fn body(method: &str, params: Template) -> Self {
        Self { template: message(method, params), length: None }
    }

    /// A POST request with its head.
    pub(super) fn post(head: &RequestHead, method: &str, params: Template) -> Self {
        let body = message(method, params);
        let mut bytes = Vec::with_capacity(1_024);
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
        bytes.extend_from_slice(b"\r\ncontent-length: ");
        let fixed = body.fixed_len();
        let length = fixed.map_or_else(|| " ".repeat(LENGTH_DIGITS), |length| length.to_string());
        bytes.extend_from_slice(length.as_bytes());
        let length_end = bytes.len();
        bytes.extend_from_slice(b"\r\n\r\n");
        let length = fixed.is_none().then_some((length_end, bytes.len()));
        let mut template = Template::default();
        template.push(&bytes);
        template.append(body);
        Self { template, length }
    }

    /// Appends the request with these values.
    pub(super) fn fill(&self, out: &mut Vec<u8>, values: Values<'_>) {
        let start = out.len();
        self.template.fill(out, values);
        if let Some((length_end, body)) = self.length {
            let length = (out.len() - start - body).to_string();
            let at = start + length_end - length.len();
            out[at..at + length.len()].copy_from_slice(length.as_bytes());
        }
    }
}

/// The id is the first member, so that it cannot be confused with a number in the parameters.
fn message(method: &str, params: Template) -> Template {
    let mut message = Template::default();
    message.push(br#"{"jsonrpc":"2.0","id":"#);
    message.push_id();
    message.push(format!(r#","method":{},"params":"#, Value::from(method)).as_bytes());
    message.append(params);
    message.push(b"}");
    message
}

/// The requests of one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OperationRequests {
    /// The only one, or that of the first page.
    pub(super) first: EncodedRequest,
    /// That of further pages.
    pub(super) page: Option<EncodedRequest>,
}

/// The requests of all operations. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct Requests {
    operations: Arc<[OperationRequests]>,
    data: Arc<DataSet>,
}

impl Requests {
    pub(super) fn new(operations: Vec<OperationRequests>, data: Arc<DataSet>) -> Self {
        Self { operations: operations.into(), data }
    }

    /// Appends a request. With a cursor it is that of a further page.
    pub(super) fn fill(&self, out: &mut Vec<u8>, id: u64, position: Position, cursor: Option<&str>) {
        let OperationRequests { first, page } = &self.operations[position.operation];
        let request = page.as_ref().filter(|_| cursor.is_some()).unwrap_or(first);
        let Position { iteration, user, .. } = position;
        request.fill(out, Values { id, iteration, user, cursor, data: &self.data });
    }
}

/// The head of a POST request over HTTP/2, without the length.
///
/// # Errors
/// If the URL is not one of HTTP.
pub(super) fn http2_head(head: &RequestHead) -> io::Result<http::Request<()>> {
    let authority = &head.url[url::Position::BeforeHost..url::Position::AfterPort];
    let target = &head.url[url::Position::BeforePath..url::Position::AfterQuery];
    let uri = Uri::builder().scheme(head.url.scheme()).authority(authority).path_and_query(target).build();
    let mut request = http::Request::post(uri.map_err(io::Error::other)?).body(()).map_err(io::Error::other)?;
    // Headers of the connection are an error (RFC 9113, 8.2.2), and the authority replaces the host.
    let excluded = [
        "connection",
        "content-length",
        "host",
        "keep-alive",
        "proxy-connection",
        "te",
        "transfer-encoding",
        "upgrade",
    ];
    let headers = head.headers.iter().filter(|(name, _)| !excluded.contains(&name.as_str()));
    request.headers_mut().extend(headers.map(|(name, value)| (name.clone(), value.clone())));
    Ok(request)
}

/// The parameters of further pages of a list.
pub(super) fn page_params(mut params: Map<String, Value>) -> Map<String, Value> {
    params.insert("cursor".to_owned(), "{{cursor}}".into());
    params
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::bench::template::Slot;

    fn params(iteration: &str) -> Template {
        let params = json!({ "name": "echo", "arguments": { "id": FIRST_ID, "n": iteration } });
        Template::new(&params, &|_| Some(Slot::Iteration)).unwrap()
    }

    fn fill(request: &EncodedRequest, id: u64, iteration: u64) -> String {
        let mut bytes = b"before".to_vec();
        request.fill(&mut bytes, Values { id, iteration, user: 0, cursor: None, data: &DataSet::default() });
        String::from_utf8(bytes).unwrap().strip_prefix("before").unwrap().to_owned()
    }

    #[test]
    fn a_line_has_the_id_and_the_values() {
        let line = EncodedRequest::line("tools/call", params("{{iteration}}"));
        for (id, iteration) in [(1_234_567_890, 7), (9_999_999_999, 12_345)] {
            let text = fill(&line, id, iteration);
            let params = json!({ "name": "echo", "arguments": { "id": FIRST_ID, "n": iteration } });
            let expected = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
            assert!(text.ends_with("}\n"));
        }
    }

    #[test]
    fn a_post_request_has_host_headers_and_length() {
        let mut headers = reqwest::header::HeaderMap::new();
        headers.insert("mcp-method", "tools/call".parse().unwrap());
        let url = "http://127.0.0.1:81/mcp?a=b".parse().unwrap();
        let head = RequestHead { url, socket: None, headers };
        for (text, lengths) in [("fixed", 1), ("{{iteration}}", 3)] {
            let post = EncodedRequest::post(&head, "tools/call", params(text));
            let mut found = std::collections::BTreeSet::new();
            for iteration in [5, 123, 1_234_567] {
                let text = fill(&post, 9_876_543_210, iteration);
                let (head, body) = text.split_once("\r\n\r\n").unwrap();
                assert!(
                    head.starts_with("POST /mcp?a=b HTTP/1.1\r\nhost: 127.0.0.1:81\r\nmcp-method: tools/call\r\n"),
                    "{head}"
                );
                let (_, length) = head.split_once("\r\ncontent-length: ").unwrap();
                assert_eq!(length.trim_start().parse(), Ok(body.len()), "{head}");
                assert_eq!(serde_json::from_str::<Value>(body).unwrap()["id"], 9_876_543_210_u64);
                found.insert(body.len());
            }
            assert_eq!(found.len(), lengths);
        }
    }
}
