//! Verdicts of `validate` that need more than one server with one defect; those are in `devtools/mutants`.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
};

use reports::{Run, Verdict};
use serde_json::{Value, json};

const WORKBENCH: &str = env!("CARGO_BIN_EXE_mcp-workbench");

/// Validates a mock server that conforms, except perhaps in the behavior of its process.
fn validate(process: &Value) -> Run {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("script.json");
    let script = json!({
        "process": process,
        "revisions": ["2025-11-25", "2026-07-28"],
        "capabilities": { "tools": {}, "logging": {} },
        "tools": [{ "name": "echo" }, { "name": "add" }]
    });
    std::fs::write(&file, script.to_string()).expect("the script is written");
    let output = Command::new(WORKBENCH)
        .args(["validate", "--quiet", "--jobs", "8", "--format", "json", "--", WORKBENCH, "mock", "stdio"])
        .arg(&file)
        .output()
        .expect("the workbench starts");
    let run: Run = serde_json::from_slice(&output.stdout).expect("a run");
    assert_eq!(output.status.success(), run.passed(), "the exit code agrees with the report");
    run
}

#[test]
fn a_conforming_server_passes_all_checks() {
    let run = validate(&json!({}));
    let bad: Vec<_> = run.cases.iter().filter(|case| case.verdict > Verdict::Passed).map(|case| &case.id).collect();
    assert!(run.passed() && bad.is_empty(), "{bad:?}");
}

#[test]
fn a_server_with_a_defect_fails_the_run() {
    assert!(!validate(&json!({ "banner": "Listening\n" })).passed());
}

/// A mock server and its URL.
fn minimal_server(transport: &str) -> (Child, String) {
    minimal_server_at("127.0.0.1:0", transport)
}

fn minimal_server_at(address: &str, transport: &str) -> (Child, String) {
    let mut server = Command::new(WORKBENCH)
        .args(["mock", "serve", "minimal", "--transport", transport, "--listen", address])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the server starts");
    let mut url = String::new();
    BufReader::new(server.stdout.take().expect("an output")).read_line(&mut url).expect("the URL");
    (server, url.trim().to_owned())
}

/// Validates the server at a URL, and runs the scenarios of clients over Unix sockets.
#[cfg(unix)]
#[test]
fn servers_and_clients_are_tested_over_unix_sockets() {
    let directory = tempfile::tempdir().expect("a directory");
    let socket = directory.path().join("a b.sock");
    let (mut server, url) = minimal_server_at(&format!("unix:{}", socket.display()), "http");
    let output = |arguments: &[&str]| {
        let output = Command::new(WORKBENCH).args(arguments).args(["--quiet", "--format", "json"]).output();
        serde_json::from_slice::<Run>(&output.expect("the workbench starts").stdout).expect("a run")
    };
    let validated = output(&["validate", "--url", &url.replace(' ', "%20")]);
    let malformed = Command::new(WORKBENCH).args(["validate", "--quiet", "--url", "unix:///tmp/"]).output();
    server.kill().and_then(|()| server.wait()).expect("the server ends");
    let warned: Vec<_> = validated.cases.iter().filter(|case| case.verdict > Verdict::Passed).collect();
    assert!(validated.passed() && warned.is_empty() && validated.cases.len() > 100, "{warned:#?}");
    let malformed = malformed.expect("the workbench starts");
    assert_eq!(malformed.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&malformed.stderr).contains("unix:///path/of/the/socket#/mcp"));
    let tested = output(&[
        "conformance",
        "--unix-socket",
        "http/redirect-to-another-origin",
        "pagination/one-page@streamable-http*",
    ]);
    let failed: Vec<_> = tested.cases.iter().filter(|case| case.verdict != Verdict::Passed).collect();
    assert!(failed.is_empty() && tested.cases.len() > 3, "{failed:#?}");
}

/// The address and the port of a URL.
fn address(url: &str) -> String {
    url.split('/').nth(2).expect("an address").to_owned()
}

/// Forwards connections to a server, but rejects a POST to its stream as if a parameter was missing.
fn rejecting(listener: &TcpListener, server: &str) {
    for client in listener.incoming().map_while(Result::ok) {
        let mut upstream = TcpStream::connect(server).expect("the server accepts");
        let (mut input, mut output) = (client.try_clone().expect("a socket"), client);
        let mut first = [0; 9];
        if input.read_exact(&mut first).is_ok() && first != *b"POST /sse" {
            upstream.write_all(&first).expect("the server reads");
            let mut back = upstream.try_clone().expect("a socket");
            std::thread::spawn(move || std::io::copy(&mut back, &mut output));
            std::thread::spawn(move || std::io::copy(&mut input, &mut upstream));
            continue;
        }
        let body =
            json!({ "jsonrpc": "2.0", "error": { "code": -32000, "message": "sessionId is missing" }, "id": null });
        let body = body.to_string();
        let head = "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close";
        write!(output, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).expect("the client reads");
        // The rest of the request, so that the connection is not reset before the response is read.
        let _ = input.read(&mut [0; 4096]);
    }
}

#[test]
fn a_post_that_http_sse_rejects_with_an_error_is_no_failed_handshake() {
    let (mut server, url) = minimal_server("sse");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let front = format!("http://{}/sse", listener.local_addr().expect("an address"));
    let behind = address(&url);
    std::thread::spawn(move || rejecting(&listener, &behind));
    let output = Command::new(WORKBENCH)
        .args(["validate", "--quiet", "--only", "handshake-completes", "--format", "json", "--url", &front])
        .output()
        .expect("the workbench starts");
    server.kill().and_then(|()| server.wait()).expect("the server ends");
    let run: Run = serde_json::from_slice(&output.stdout).expect("a run");
    let passed = run.cases.iter().filter(|case| case.verdict == Verdict::Passed);
    assert!(passed.clone().count() > 0 && passed.clone().all(|case| case.transport == "sse"), "{:#?}", run.cases);
}

/// The verdict of the check on the addresses of the server at this URL.
fn verdict_on_addresses(url: &str) -> Option<Verdict> {
    let output = Command::new(WORKBENCH)
        .args(["validate", "--quiet", "--only", "http-listens-at-loopback-only", "--format", "json", "--url", url])
        .output()
        .expect("the workbench starts");
    let run: Run = serde_json::from_slice(&output.stdout).expect("a run");
    run.cases.iter().flat_map(|case| &case.checks).map(|check| check.verdict).max()
}

/// The listener at another loopback address stands for a server that listens at every address of the machine, so that the
/// test opens nothing to the network.
#[cfg(target_os = "linux")]
#[test]
fn a_server_that_listens_at_another_address_is_warned_about() {
    let (mut server, url) = minimal_server("http");
    let other_address = address(&url).replace("127.0.0.1", "127.0.0.2");
    let alone = verdict_on_addresses(&url);
    let other = TcpListener::bind(other_address).expect("a free port");
    let with_other = verdict_on_addresses(&url);
    drop(other);
    server.kill().and_then(|()| server.wait()).expect("the server ends");
    assert_eq!((alone, with_other), (Some(Verdict::Passed), Some(Verdict::Warned)));
}
