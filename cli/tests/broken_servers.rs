//! Mock servers with one defect each, and the check of `validate` that must fail. A conforming server passes all checks.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
};

use reports::{
    Run, Verdict,
    Verdict::{Failed, Warned},
};
use serde_json::{Value, json};

const WORKBENCH: &str = env!("CARGO_BIN_EXE_mcp-workbench");

/// The script of a conforming server, which each defect changes.
fn conforming() -> Value {
    json!({
        "revisions": ["2025-11-25", "2026-07-28"],
        "capabilities": { "tools": {}, "logging": {} },
        "tools": [{ "name": "echo" }, { "name": "add" }]
    })
}

/// A rule that merges fields into the default result of a method.
fn patched(method: &str, patch: &Value) -> Value {
    json!({ "on": [{ "when": { "method": method }, "do": { "reply": { "patch": patch } } }] })
}

/// A rule that returns this result for a method.
fn replaced(method: &str, result: &Value) -> Value {
    json!({ "on": [{ "when": { "method": method }, "do": { "reply": { "result": result } } }] })
}

fn tools(tools: &Value) -> Value {
    patched("tools/list", &json!({ "tools": tools }))
}

/// The defect of a server, the check that must detect it, and its verdict.
fn table() -> Vec<(Value, &'static str, Verdict)> {
    let schema = json!({ "type": "object" });
    vec![
        (json!({ "process": { "banner": "Listening\n" } }), "stdout-holds-only-messages", Failed),
        (json!({ "process": { "ignore_stdin_close": true } }), "exits-when-input-closes", Warned),
        (json!({ "process": { "children": [{ "setsid": true }] } }), "server-leaves-no-process", Failed),
        (
            json!({ "process": { "children": [{ "clear_env": true, "ignore_sigterm": true }] } }),
            "server-leaves-no-process",
            Failed,
        ),
        (patched("initialize", &json!({ "capabilities": null })), "shape-initialize-result", Failed),
        (patched("initialize", &json!({ "serverInfo": { "name": 7 } })), "shape-implementation", Failed),
        (patched("server/discover", &json!({ "capabilities": null })), "shape-discover-result", Failed),
        (patched("server/discover", &json!({ "supportedVersions": null })), "shape-discover-result", Failed),
        (replaced("ping", &json!({ "pong": true })), "ping-is-answered-empty", Failed),
        (
            json!({ "on": [{ "when": { "method": "ping" }, "do": { "fault": "wrong-id" } }] }),
            "response-has-the-id-of-a-request",
            Failed,
        ),
        (
            json!({ "on": [{ "when": { "method": "ping" }, "do": { "fault": "duplicate" } }] }),
            "request-answered-once",
            Failed,
        ),
        (
            json!({ "on": [{ "when": { "method": "logging/setLevel" }, "do": { "fault": "silence" } }] }),
            "requests-are-answered",
            Failed,
        ),
        (
            tools(&json!([{ "name": "a", "inputSchema": schema }, { "name": "a", "inputSchema": schema }])),
            "tool-names-are-unique",
            Warned,
        ),
        (tools(&json!([{ "name": "a b", "inputSchema": schema }])), "tool-names-are-plain", Warned),
        (tools(&json!([{ "name": "a" }])), "shape-tool", Failed),
        (
            tools(&json!([{ "name": "a", "inputSchema": { "type": "object", "properties": 5 } }])),
            "tool-schemas-are-valid",
            Failed,
        ),
        (tools(&json!([{ "inputSchema": schema }])), "shape-tool", Failed),
        (
            tools(&json!([{ "name": "a", "inputSchema": schema, "annotations": { "readOnlyHint": "yes" } }])),
            "shape-tool-annotations",
            Failed,
        ),
        (tools(&json!("none")), "shape-list-tools-result", Failed),
        (patched("tools/list", &json!({ "nextCursor": 5 })), "shape-list-tools-result", Failed),
        (patched("tools/list", &json!({ "tools": [], "nextCursor": "again" })), "pages-come-to-an-end", Failed),
        (
            replaced("tools/call", &json!({ "content": [], "resultType": "complete" })),
            "unknown-tool-is-refused",
            Failed,
        ),
        (replaced("logging/setLevel", &json!({})), "invalid-log-level-code", Warned),
        (patched("tools/list", &json!({ "resultType": null })), "shape-list-tools-result", Failed),
        (patched("tools/list", &json!({ "ttlMs": "long" })), "shape-list-tools-result", Failed),
    ]
}

/// Validates a mock server with this script.
fn validate(script: &Value, directory: &Path, checks: &str) -> Run {
    let file = directory.join("script.json");
    std::fs::write(&file, script.to_string()).expect("the script is written");
    let status = Command::new(WORKBENCH)
        .args(["validate", "--quiet", "--jobs", "8", "--only", checks, "--format", "json", "--output"])
        .arg(directory)
        .args(["--", WORKBENCH, "mock", "stdio"])
        .arg(&file)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("the workbench starts");
    let run = std::fs::read_to_string(directory.join("run.json")).expect("a report");
    let run: Run = serde_json::from_str(&run).expect("a run");
    assert_eq!(status.success(), run.passed(), "the exit code agrees with the report");
    run
}

#[test]
fn a_conforming_server_passes_all_checks() {
    let directory = tempfile::tempdir().expect("a directory");
    let run = validate(&conforming(), directory.path(), "*");
    let bad: Vec<_> = run.cases.iter().filter(|case| case.verdict > Verdict::Passed).map(|case| &case.id).collect();
    assert!(run.passed() && bad.is_empty(), "{bad:?}");
}

/// The difference between the table and the verdict for a server with this defect.
fn disagreement(defect: &Value, check: &str, expected: Verdict) -> Option<String> {
    let mut script = conforming();
    for (key, value) in defect.as_object().expect("an object") {
        script[key] = value.clone();
    }
    let directory = tempfile::tempdir().expect("a directory");
    let run = validate(&script, directory.path(), check);
    let checks = run.cases.iter().flat_map(|case| &case.checks);
    let found = checks.filter(|check_result| check_result.id == check).map(|check_result| check_result.verdict).max();
    (found != Some(expected)).then(|| format!("{check}: expected {expected:?} for {defect}, found {found:?}"))
}

#[test]
fn each_defect_is_detected_by_its_check() {
    let table = table();
    // In parallel, because most runs wait.
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = table
            .chunks(3)
            .map(|rows| {
                scope.spawn(move || {
                    let rows = rows.iter();
                    rows.filter_map(|(defect, check, expected)| disagreement(defect, check, *expected))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A mock server and its URL.
fn minimal_server(transport: &str) -> (Child, String) {
    let mut server = Command::new(WORKBENCH)
        .args(["mock", "serve", "minimal", "--transport", transport, "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the server starts");
    let mut url = String::new();
    BufReader::new(server.stdout.take().expect("an output")).read_line(&mut url).expect("the URL");
    (server, url.trim().to_owned())
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
    assert_eq!((alone, with_other), (Some(Verdict::Passed), Some(Warned)));
}
