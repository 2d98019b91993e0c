//! The same over stdio: lines that are no messages, lines without end, a client that never reads.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::Instant,
};

use serde_json::{Value, json};

use crate::{
    peer::BOUND,
    server::{LEGACY, example, megabytes},
};

struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<BufReader<ChildStdout>>,
}

impl Server {
    fn start() -> Self {
        let mut child = Command::new(example("stdio-mock"))
            .args([json!({"tools": [{"name": "echo"}]}).to_string(), LEGACY.to_owned()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().map(BufReader::new));
        Self { child, input, output }
    }

    fn send(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.output.as_mut().unwrap().read_line(&mut line).unwrap();
        line.parse().unwrap_or_else(|_| panic!("no JSON: {line:?}"))
    }

    /// Proves that the server has answered everything before, and still answers.
    #[track_caller]
    fn answers_next(&mut self) {
        self.send(b"{\"jsonrpc\":\"2.0\",\"id\":\"next\",\"method\":\"ping\"}\n");
        let answer = self.answer();
        assert_eq!((&answer["id"], answer.get("result")), (&json!("next"), Some(&json!({}))), "{answer}");
    }

    fn holds_at_most(&self, limit: u64) {
        if let Some(held) = megabytes(&self.child) {
            assert!(held <= limit, "the server holds {held} MB");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn each_line_that_is_no_json_gets_one_parse_error() {
    let mut server = Server::start();
    let deep = "[".repeat(100_000);
    for line in [
        &b"{"[..],
        b"\0\0\0",
        b"\xff\xfe\x00",
        b"\xef\xbb\xbf{}",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xc3\x28\"}",
        b"Content-Length: 20",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}",
        deep.as_bytes(),
    ] {
        server.send(&[line, b"\n"].concat());
        let answer = server.answer();
        assert_eq!(answer["error"]["code"], -32700, "{answer}");
        assert_eq!(answer.get("id"), None, "{answer}");
        server.answers_next();
    }
    // These are no lines at all.
    server.send(b"\n\r\n  \t\r\n");
    server.answers_next();
}

#[test]
fn a_line_without_end_gets_one_error_and_takes_no_more_memory_than_a_long_one() {
    let mut server = Server::start();
    let piece = vec![b'x'; 1024 * 1024];
    for _ in 0..150 {
        server.send(&piece);
    }
    server.send(b"\n");
    assert_eq!(server.answer()["error"]["code"], -32700);
    server.answers_next();
    server.holds_at_most(150);
}

#[test]
fn a_message_that_comes_byte_by_byte_is_answered() {
    let mut server = Server::start();
    for byte in b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n" {
        server.send(&[*byte]);
    }
    assert_eq!(server.answer()["id"], 1);
    server.answers_next();
}

#[test]
fn a_client_that_never_reads_costs_no_memory_and_its_end_ends_the_server() {
    let mut server = Server::start();
    let mut input = server.input.take().unwrap();
    let flood = std::thread::spawn(move || {
        let batch = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n".repeat(1_000);
        // Ends when the server is held up and then gone; the pipes hold a few of these.
        let written = (0..1_000_000).take_while(|_| input.write_all(&batch).is_ok()).count();
        assert!(written < 1_000, "the server has read {written} batches of a client that does not read");
    });
    let began = Instant::now();
    while megabytes(&server.child).is_some_and(|held| held < 1) && began.elapsed() < BOUND {
        std::thread::yield_now();
    }
    server.holds_at_most(40);
    // With nobody left to write to, the server goes on reading, finds the output gone, and ends with its input.
    drop(server.output.take());
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    flood.join().unwrap();
}
