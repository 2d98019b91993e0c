//! `record --url`: a proxy over HTTP.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use serde_json::Value;

use crate::kit::{PROGRAM, bodies, frames, path, run, stdout};

/// A program that prints its URL, and is stopped at the end of the test.
struct Listening {
    child: Child,
    url: String,
}

impl Listening {
    fn start(arguments: &[&str]) -> Self {
        let mut child =
            Command::new(PROGRAM).args(arguments).stdout(Stdio::piped()).spawn().expect("the program starts");
        let mut url = String::new();
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        output.read_line(&mut url).expect("its address");
        Self { child, url: url.trim().to_owned() }
    }

    fn record(directory: &Path, url: &str, transport: &str) -> Self {
        Self::start(&["record", "--output", path(directory), "--url", url, "--transport", transport])
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // It has exited already if this fails.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Calls a tool with progress, and returns what the client printed.
fn call(url: &str, options: &[&str]) -> String {
    let arguments = ["client", "call", "test_tool_with_progress", "--json", "--url", url];
    stdout(&run(&[&arguments[..], options].concat()), 0)
}

/// Records a call, judges both sides, and compares with the repeated server.
fn round_trip(transport: &str, revision: &str) {
    let directory = tempfile::tempdir().expect("a directory");
    let [first, second] = ["first", "second"].map(|name| directory.path().join(name));
    let options = ["--revision", revision, "--transport", transport];
    let server = Listening::start(&["mock", "serve", "everything", "--transport", transport]);
    let direct = call(&server.url, &options);
    let recorder = Listening::record(&first, &server.url, transport);
    assert_eq!(call(&recorder.url, &options), direct);
    let report = stdout(&run(&["judge", path(&first)]), 0);
    assert!(report.contains("2 passed; 2 planned"), "{report}");

    let repeated = Listening::start(&["mock", "serve", "--from", path(&first), "--transport", transport]);
    let recorder = Listening::record(&second, &repeated.url, transport);
    assert_eq!(call(&recorder.url, &options), direct);
    let messages = |directory: &Path| -> Vec<Value> {
        let mut messages = bodies(&frames(directory), "server-to-client");
        messages.iter_mut().filter_map(Value::as_object_mut).for_each(|message| drop(message.remove("id")));
        messages
    };
    assert_eq!(messages(&second), messages(&first));
    assert!(messages(&first).iter().any(|message| message["method"] == "notifications/progress"));
}

#[test]
fn streamable_http_with_a_handshake() {
    round_trip("streamable-http", "2025-11-25");
}

#[test]
fn streamable_http_without_a_handshake() {
    round_trip("streamable-http", "2026-07-28");
}

#[test]
fn http_sse() {
    round_trip("sse", "2024-11-05");
}

/// A server for one request: it sends its response in two parts, the second one after a signal.
fn two_parts(first: &'static str, second: &'static str) -> (String, mpsc::Sender<()>, thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    let (go_on, wait) = mpsc::channel();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let head = read_head(&mut stream);
        stream.write_all(first.as_bytes()).expect("it is open");
        wait.recv_timeout(Duration::from_secs(20)).expect("the first part arrived");
        stream.write_all(second.as_bytes()).expect("it is open");
        head
    });
    (url, go_on, server)
}

/// Reads up to the empty line.
fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).expect("more of the head");
        head.push(byte[0]);
    }
    String::from_utf8(head).expect("UTF-8").to_ascii_lowercase()
}

#[test]
fn an_event_passes_before_the_stream_ends_and_headers_pass() {
    let directory = tempfile::tempdir().expect("a directory");
    let (url, go_on, server) = two_parts(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-kept: yes\r\nconnection: close\r\n\r\nid: 1\ndata: {\"a\":1}\n\n",
        "event: last\ndata: not json\n\n",
    );
    let recorder = Listening::record(directory.path(), &url, "streamable-http");
    let address = recorder.url.trim_start_matches("http://").trim_end_matches("/mcp");
    let mut client = TcpStream::connect(address).expect("it listens");
    client.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    let request =
        format!("GET /mcp HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer s3cret\r\nx-sent: yes\r\n\r\n");
    client.write_all(request.as_bytes()).expect("it is open");
    let head = read_head(&mut client);
    assert!(head.contains("x-kept: yes") && head.contains("200 ok"), "{head}");
    let mut body = String::new();
    let mut chunk = [0; 256];
    while !body.contains("data: {\"a\":1}\n\n") {
        let read = client.read(&mut chunk).expect("the first event");
        body.push_str(std::str::from_utf8(&chunk[..read]).expect("UTF-8"));
    }
    go_on.send(()).expect("the server waits");
    while !body.contains("not json") {
        let read = client.read(&mut chunk).expect("the second event");
        body.push_str(std::str::from_utf8(&chunk[..read]).expect("UTF-8"));
    }
    let received = server.join().expect("the server ends");
    assert!(received.contains("authorization: bearer s3cret") && received.contains("x-sent: yes"), "{received}");
    drop(client);
    let text = std::fs::read_to_string(directory.path().join("frames.jsonl")).expect("the frames");
    assert!(!text.contains("s3cret"), "{text}");
    let frames = frames(directory.path());
    assert_eq!(frames[0]["http"]["method"], "GET");
    assert_eq!(frames[1]["http"]["headers"]["x-kept"], "yes");
    assert_eq!((&frames[2]["http"]["event_id"], &frames[2]["body"]["json"]["a"]), (&"1".into(), &1.into()));
    assert_eq!((&frames[3]["http"]["event"], &frames[3]["body"]["text"]), (&"last".into(), &"not json".into()));
}

#[test]
fn an_absolute_endpoint_leads_to_the_recorder() {
    let directory = tempfile::tempdir().expect("a directory");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let server = listener.local_addr().expect("an address");
    let serving = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        read_head(&mut stream);
        let text = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n\
             event: endpoint\r\ndata: http://{server}/messages?session=1\r\n\r\n\
             event: message\r\ndata: {{\"at\":\"http://{server}/\"}}\r\n\r\n"
        );
        stream.write_all(text.as_bytes()).expect("it is open");
    });
    let recorder = Listening::record(directory.path(), &format!("http://{server}/sse"), "sse");
    let address = recorder.url.trim_start_matches("http://").trim_end_matches("/sse");
    let mut client = TcpStream::connect(address).expect("it listens");
    client.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    write!(client, "GET /sse HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").expect("it is open");
    let mut text = String::new();
    client.read_to_string(&mut text).expect("the stream");
    serving.join().expect("the server ends");
    assert!(text.contains(&format!("event: endpoint\r\ndata: http://{address}/messages?session=1\r\n")), "{text}");
    assert!(text.contains(&format!("{{\"at\":\"http://{server}/\"}}")), "only the endpoint changes: {text}");
    let endpoint = &frames(directory.path())[2];
    assert_eq!(endpoint["body"]["text"], format!("http://{server}/messages?session=1"), "the record has what was sent");
}

#[test]
fn only_loopback_names_and_addresses_are_served() {
    let directory = tempfile::tempdir().expect("a directory");
    let recorder = Listening::record(directory.path(), "http://127.0.0.1:1/mcp", "streamable-http");
    let address = recorder.url.trim_start_matches("http://").trim_end_matches("/mcp");
    let status = |host: &str| {
        let mut client = TcpStream::connect(address).expect("it listens");
        write!(client, "GET /mcp HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").expect("it is open");
        let mut text = String::new();
        client.read_to_string(&mut text).expect("a response");
        text.split(' ').nth(1).expect("a status").to_owned()
    };
    assert_eq!(status("evil.example"), "403");
    // Nothing listens at the URL of the server.
    assert_eq!(status(address), "502");
    let output = run(&[
        "record",
        "--output",
        path(directory.path()),
        "--url",
        "http://127.0.0.1:1/mcp",
        "--listen",
        "0.0.0.0:0",
    ]);
    assert_eq!(output.status.code(), Some(2));
}
