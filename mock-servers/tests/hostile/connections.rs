//! Connections that are slow, deaf, half open or cut.

use std::{
    io::{ErrorKind, Write as _},
    time::Duration,
};

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use serde_json::json;

use crate::{
    peer::{Peer, head, request},
    server::{LEGACY, MODERN, Server, call},
};

#[test]
fn a_request_that_comes_byte_by_byte_is_answered_and_keeps_nobody_waiting() {
    let server = Server::modern();
    let mut peer = server.connect();
    let bytes = call("slow");
    for (at, byte) in bytes.iter().enumerate() {
        peer.send(&[*byte]).unwrap();
        if at % 50 == 0 {
            server.serves_others();
        }
    }
    assert_eq!(peer.reply().unwrap().json()["result"]["content"][0]["text"], "echo: {\"text\":\"slow\"}");
}

#[test]
fn heads_and_bodies_that_never_end_keep_nobody_waiting() {
    let server = Server::modern();
    let half = call("half");
    let waiting: Vec<Peer> = (0..300)
        .map(|at| {
            let mut peer = server.connect();
            peer.send(&half[..half.len() * (at + 1) / 301]).unwrap();
            peer
        })
        .collect();
    server.serves_others();
    server.holds_at_most(60);
    drop(waiting);
    server.serves_others();
}

#[test]
fn a_client_that_asks_without_end_and_never_reads_is_held_up_alone() {
    let server = Server::start(&json!({"generate": {"tools": 1000}}), MODERN);
    let params = json!({"_meta": {
        "io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {},
    }});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params}).to_string();
    let list = request(&[("mcp-protocol-version", MODERN), ("mcp-method", "tools/list")], body);
    let mut deaf = server.connect();
    deaf.stream.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    // Each of these asks for 150 kB. Once the buffers between the two are full, the server reads no more of them.
    let held_up = (0..100_000).find_map(|_| deaf.send(&list).err());
    let cause = held_up.expect("the server stops to read").kind();
    assert!(matches!(cause, ErrorKind::WouldBlock | ErrorKind::TimedOut), "{cause}");
    server.holds_at_most(80);
    let mut other = server.connect();
    other.send(&list).unwrap();
    assert_eq!(other.reply().unwrap().status, 200);
}

#[test]
fn half_open_connections_are_closed() {
    let server = Server::modern();
    let whole = call("x");
    for bytes in [&b""[..], b"POST", &whole[..whole.len() / 2], &whole[..whole.len() - 1]] {
        let mut peer = server.connect();
        peer.send(bytes).unwrap();
        peer.finish();
        if let Some(reply) = peer.reply() {
            assert_eq!(reply.status, 400, "{reply:?}");
        }
        assert!(peer.is_closed());
    }
    server.serves_others();
}

/// Clients that hang up at any byte, of what they send as well as of what they are sent.
#[test]
fn connections_cut_anywhere_leave_nothing_behind() {
    let server = Server::start(
        &json!({"tools": [{"name": "echo"}], "on": [
            {"when": {"tool": "echo"}, "do": [{"progress": {"progress": 1, "times": 50}}, {"reply": {"text": "done"}}]},
        ]}),
        MODERN,
    );
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let whole = request(
        &[("mcp-protocol-version", MODERN), ("mcp-method", "tools/call"), ("mcp-name", "echo")],
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "_meta": {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
            "progressToken": "p",
        }}})
        .to_string(),
    );
    let cut = |random: &mut ChaCha8Rng| {
        let mut peer = server.connect();
        let length = (random.next_u32() as usize % (whole.len() + 20)).min(whole.len());
        peer.send(&whole[..length]).unwrap();
        if length == whole.len() && random.next_u32().is_multiple_of(2) {
            let mut piece = vec![0; 1 + random.next_u32() as usize % 2000];
            std::io::Read::read_exact(&mut peer.stream, &mut piece).unwrap();
        }
    };
    (0..200).for_each(|_| cut(&mut random));
    let before = server.megabytes();
    (0..2_000).for_each(|_| cut(&mut random));
    let mut peer = server.connect();
    peer.send(&whole).unwrap();
    assert_eq!(peer.reply().unwrap().status, 200);
    if let Some(before) = before {
        server.holds_at_most(before + 8);
    }
}

#[test]
fn sessions_that_do_not_exist_are_not_found_and_none_is_opened_for_them() {
    let server = Server::start(&json!({"tools": [{"name": "echo"}]}), LEGACY);
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let long = "0".repeat(10_000);
    for (session, status) in
        [("0", 404), ("' or 1=1 --", 404), ("../../etc/passwd", 404), (&long, 404), ("\u{1F980}", 400)]
    {
        let reply = server.ask(&request(&[("mcp-session-id", session)], &body)).unwrap();
        assert_eq!(reply.status, status, "{session}");
    }
    assert_eq!(server.ask(&request(&[], &body)).unwrap().status, 400);
    for method in ["GET", "DELETE"] {
        let head = head(&[("mcp-session-id", "0")], 0).replace("POST", method);
        assert_eq!(server.ask(head.as_bytes()).unwrap().status, 404, "{method}");
    }
}

#[test]
fn sessions_that_are_opened_without_end_do_not_eat_the_memory() {
    let server = Server::start(&json!({"tools": [{"name": "echo"}]}), LEGACY);
    let params = json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string();
    let hello = request(&[], hello);
    let mut peer = server.connect();
    for _ in 0..200 {
        for _ in 0..100 {
            peer.stream.write_all(&hello).unwrap();
        }
        for _ in 0..100 {
            assert_eq!(peer.reply().unwrap().status, 200);
        }
    }
    server.holds_at_most(60);
}
