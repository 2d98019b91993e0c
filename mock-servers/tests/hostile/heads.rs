//! Requests whose heads are wrong, huge, or made to mean different things to different readers.

use crate::{
    peer::{head, request},
    server::{MODERN, Server, call, call_body},
};

const VERSION: (&str, &str) = ("mcp-protocol-version", MODERN);
const METHOD: (&str, &str) = ("mcp-method", "tools/call");
const NAME: (&str, &str) = ("mcp-name", "echo");

#[test]
fn an_envelope_that_cannot_be_served_gets_its_status() {
    let server = Server::modern();
    let body = call_body("x");
    let whole = String::from_utf8(call("x")).unwrap();
    for (bytes, status) in [
        (request(&[VERSION, METHOD, NAME, ("content-type", "text/plain")], &body), 415),
        (request(&[VERSION, METHOD, NAME, ("content-type", "application/json-rpc")], &body), 415),
        (request(&[VERSION, METHOD, NAME, ("content-type", "")], &body), 415),
        (request(&[VERSION, METHOD, NAME, ("accept", "text/html")], &body), 406),
        (request(&[VERSION, METHOD, NAME, ("accept", "application/json")], &body), 406),
        (request(&[VERSION, METHOD, NAME, ("origin", "http://evil.example")], &body), 403),
        (request(&[VERSION, METHOD], &body), 400),
        (request(&[VERSION, METHOD, ("mcp-name", "=?base64?!?=")], &body), 400),
        (request(&[VERSION, ("mcp-method", "ping"), NAME], &body), 400),
        (request(&[("mcp-protocol-version", "\u{1F980}"), METHOD, NAME], &body), 400),
        (whole.replace("host: 127.0.0.1", "host: evil.example").into_bytes(), 403),
        (whole.replace("POST /mcp", "POST /../etc/passwd").into_bytes(), 404),
        (whole.replace("POST", "BREW").into_bytes(), 405),
        (whole.replace("POST", "GET").into_bytes(), 405),
    ] {
        let reply = server.ask(&bytes).expect("an answer");
        assert_eq!(reply.status, status, "{}", String::from_utf8_lossy(&bytes));
    }
    server.serves_others();
}

#[test]
fn a_head_that_is_no_http_ends_the_connection() {
    let server = Server::modern();
    let whole = String::from_utf8(call("x")).unwrap();
    let spoilt = |from: &str, to: &[u8]| {
        let (before, after) = whole.split_once(from).unwrap();
        [before.as_bytes(), to, after.as_bytes()].concat()
    };
    let cases: Vec<Vec<u8>> = vec![
        b"\0\0\0\0\r\n\r\n".to_vec(),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n".to_vec(),
        b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n".to_vec(),
        b"hello\r\n\r\n".to_vec(),
        spoilt("HTTP/1.1", b"HTTP/9.9"),
        spoilt("host:", b"ho st:"),
        spoilt("host:", b"h\0st:"),
        spoilt("echo\r\n", b"ec\0ho\r\n"),
        spoilt("/mcp ", b"/mcp /mcp "),
    ];
    for bytes in cases {
        let mut peer = server.connect();
        peer.send(&bytes).unwrap();
        if let Some(reply) = peer.reply() {
            assert!(matches!(reply.status, 400 | 505), "{reply:?} to {}", String::from_utf8_lossy(&bytes));
        }
        assert!(peer.is_closed(), "{}", String::from_utf8_lossy(&bytes));
    }
    server.serves_others();
}

#[test]
fn heads_without_end_are_cut_off() {
    let server = Server::modern();
    let long = "a".repeat(8 * 1024 * 1024);
    let many: String = (0..10_000).map(|at| format!("x-{at}: y\r\n")).collect();
    let whole = String::from_utf8(call("x")).unwrap();
    for bytes in [
        whole.replace("host:", &format!("x-long: {long}\r\nhost:")),
        whole.replace("host:", &format!("{many}host:")),
        whole.replace("/mcp", &format!("/{long}")),
        long,
    ] {
        let mut peer = server.connect();
        // The server need not read it all, and may hang up while it is being sent.
        let _ = peer.send(bytes.as_bytes());
        if let Some(reply) = peer.reply() {
            assert!(matches!(reply.status, 400 | 414 | 431), "{reply:?}");
        }
        assert!(peer.is_closed());
    }
    server.serves_others();
    server.holds_at_most(60);
}

/// Requests that a proxy may read as one and a server as two (RFC 9112, 11.2): whatever they are taken for, nobody may
/// be answered who has not asked.
#[test]
fn no_request_is_smuggled_in_another() {
    let server = Server::modern();
    let smuggled = String::from_utf8(call("smuggled")).unwrap();
    let body = String::from_utf8(call_body("x")).unwrap();
    let ambiguous =
        |lengths: &str, body: &str| head(&[VERSION, METHOD, NAME], 0).replace("content-length: 0", lengths) + body;
    let length = body.len();
    let chunked = format!("{length:x}\r\n{body}\r\n0\r\n\r\n");
    for bytes in [
        ambiguous(
            &format!("content-length: {length}\r\ncontent-length: {}", length + smuggled.len()),
            &(body.clone() + &smuggled),
        ),
        ambiguous(&format!("content-length: {length}, {}", length + 5), &(body.clone() + &smuggled)),
        ambiguous(&format!("content-length: +{length}"), &body),
        ambiguous("content-length: -1", &body),
        ambiguous("content-length: 99999999999999999999999", &body),
        ambiguous(&format!("content-length: 0x{length:x}"), &body),
        ambiguous("transfer-encoding: xchunked", &chunked),
        ambiguous("transfer-encoding: chunked, identity", &chunked),
        ambiguous("transfer-encoding : chunked", &chunked),
        ambiguous("transfer-encoding: chunked", &format!("-1\r\n{smuggled}")),
        ambiguous("transfer-encoding: chunked", &format!("fffffffffffffffff\r\n{smuggled}")),
        ambiguous("transfer-encoding: chunked", &format!("zz\r\n{smuggled}")),
    ] {
        let mut peer = server.connect();
        peer.send(bytes.as_bytes()).unwrap();
        peer.finish();
        while let Some(reply) = peer.reply() {
            assert!(!String::from_utf8_lossy(&reply.body).contains("smuggled"), "{reply:?} to {bytes}");
            assert!(reply.status >= 400, "{reply:?} to {bytes}");
        }
    }
    server.serves_others();
}

#[test]
fn garbage_behind_a_request_is_answered_after_it() {
    let server = Server::modern();
    let mut peer = server.connect();
    peer.send(&[call("first"), b"\xffgarbage\r\n\r\n".to_vec(), call("second")].concat()).unwrap();
    assert_eq!(peer.reply().unwrap().status, 200);
    if let Some(reply) = peer.reply() {
        assert_eq!(reply.status, 400);
    }
    assert!(peer.is_closed(), "nothing behind the garbage is taken for a request");
    server.serves_others();
}
