//! Bodies that are no JSON, no JSON-RPC, too deep or too large.

use std::io::Write as _;

use serde_json::json;

use crate::{
    peer::{head, request},
    server::{MODERN, Server, call, call_body},
};

/// The envelope of a call.
const ENVELOPE: [(&str, &str); 3] =
    [("mcp-protocol-version", MODERN), ("mcp-method", "tools/call"), ("mcp-name", "echo")];

#[test]
fn what_is_no_json_is_a_parse_error() {
    let server = Server::modern();
    let deep = "[".repeat(100_000);
    let closed = deep.clone() + &"]".repeat(100_000);
    let objects = "{\"a\":".repeat(100_000);
    let hidden = String::from_utf8(call_body("x")).unwrap().replace("\"x\"", &closed);
    let utf16: Vec<u8> = "{\"jsonrpc\":\"2.0\"}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let cases: Vec<&[u8]> = vec![
        b"",
        b"{",
        b"\0",
        b"{\"jsonrpc\":\"2.0\"\0}",
        b"nul",
        b"NaN",
        b"{\"jsonrpc\":\"2.0\",}",
        b"{'jsonrpc':'2.0'}",
        b"\xff\xfe{}",
        b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xc3\x28\"}",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\\ud800\"}",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}{}",
        b"{\"id\":1e999}",
        &utf16,
        deep.as_bytes(),
        closed.as_bytes(),
        objects.as_bytes(),
        hidden.as_bytes(),
    ];
    let mut peer = server.connect();
    for body in cases {
        let shown: String = String::from_utf8_lossy(body).chars().take(60).collect();
        peer.send(&request(&ENVELOPE, body)).unwrap();
        let reply = peer.reply().expect("an answer");
        assert_eq!((reply.status, &reply.json()["error"]["code"]), (400, &json!(-32700)), "{shown}");
        assert_eq!(reply.json().get("id"), None, "an id that could not be read is left out: {shown}");
    }
    // Nothing of all that has spoilt the connection.
    peer.send(&call("still")).unwrap();
    assert_eq!(peer.reply().unwrap().status, 200);
}

#[test]
fn what_is_no_message_is_an_invalid_request() {
    let server = Server::modern();
    let mut peer = server.connect();
    for body in [
        "1",
        "\"x\"",
        "null",
        "[]",
        "{}",
        "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"tools/list\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"tools/list\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"tools/list\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{}}",
        "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}]",
    ] {
        peer.send(&request(&[("mcp-protocol-version", MODERN), ("mcp-method", "tools/list")], body)).unwrap();
        let reply = peer.reply().expect("an answer");
        assert_eq!(reply.status, 400, "{body}: {reply:?}");
        if !reply.body.is_empty() {
            assert_eq!(reply.json()["error"]["code"], -32600, "{body}");
        }
    }
    server.serves_others();
}

#[test]
fn a_body_that_says_that_it_is_too_large_is_refused_unread() {
    let server = Server::modern();
    let mut peer = server.connect();
    peer.send(head(&ENVELOPE, 100 * 1024 * 1024).as_bytes()).unwrap();
    assert_eq!(peer.reply().unwrap().status, 413);
    server.serves_others();
    server.holds_at_most(50);
}

#[test]
fn a_body_that_only_turns_out_to_be_too_large_is_refused() {
    let server = Server::modern();
    let mut peer = server.connect();
    let head = head(&ENVELOPE, 0).replace("content-length: 0", "transfer-encoding: chunked");
    peer.send(head.as_bytes()).unwrap();
    let piece = vec![b' '; 1024 * 1024];
    for _ in 0..100 {
        let sent = write!(peer.stream, "{:x}\r\n", piece.len())
            .and_then(|()| peer.send(&piece))
            .and_then(|()| peer.send(b"\r\n"));
        // The server has answered and hung up.
        if sent.is_err() {
            break;
        }
    }
    if let Some(reply) = peer.reply() {
        assert_eq!(reply.status, 413);
    }
    server.serves_others();
    server.holds_at_most(250);
}
