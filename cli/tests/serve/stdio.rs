//! `serve` over stdio.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Command, Stdio},
    time::Duration,
};

use serde_json::{Value, json};

use crate::kit::{TOKEN_VARIABLE, WORKBENCH, assert_conforming, exit_code_within, validate};

#[test]
fn conforms_over_stdio() {
    assert_conforming(&validate(&["--", WORKBENCH, "serve"]));
}

/// Only the complete program can test runs that start the program again.
#[test]
fn runs_scenarios_of_the_built_in_client_and_validates_a_mock() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut child = Command::new(WORKBENCH)
        .arg("serve")
        .env("MCP_WORKBENCH_RUNS", directory.path())
        .env(TOKEN_VARIABLE, "not-for-servers-to-see")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("standard input");
    let mut lines = BufReader::new(child.stdout.take().expect("standard output")).lines();
    let mut send = |message: Value| writeln!(input, "{message}").expect("it listens");
    // The result of a request; other messages are skipped.
    let mut result_of = |id: u64| -> Value {
        for line in lines.by_ref() {
            let message: Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
            if message["id"] == id {
                return message["result"].clone();
            }
        }
        panic!("no response to request {id}")
    };
    let client = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    send(json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }));
    assert_eq!(result_of(1)["serverInfo"]["name"], "mcp-workbench");
    send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));

    // Over stdio this program is the mock server, the client and the supervisor of both.
    let arguments = json!({ "scenarios": ["handshake/basic"], "transports": ["stdio", "streamable-http"] });
    let params = json!({ "name": "run_scenarios", "arguments": arguments });
    send(json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params }));
    let report = result_of(2)["structuredContent"].clone();
    assert_eq!(report["passed"], true, "{report:#}");
    assert!(report["counts"]["passed"].as_u64().is_some_and(|count| count > 2), "{report:#}");

    // A server does not get the token.
    let seen = directory.path().join("seen");
    let script =
        format!("printf '%s' \"${TOKEN_VARIABLE}\" > {}; exec {WORKBENCH} mock stdio everything", seen.display());
    let server = json!({ "command": "sh", "args": ["-c", script] });
    let arguments = json!({ "server": server, "scenarios": ["server/handshake", "server/end-of-input"] });
    let params = json!({ "name": "validate_server", "arguments": arguments });
    send(json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params }));
    let report = result_of(3)["structuredContent"].clone();
    assert_eq!(report["passed"], true, "{report:#}");
    assert_eq!(std::fs::read_to_string(&seen).expect("it was started"), "");

    drop(input);
    assert_eq!(
        exit_code_within(&mut child, Duration::from_secs(20)),
        Some(0),
        "the program exits when its input closes"
    );
}

#[test]
fn an_interruption_stops_running_tools() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut child = Command::new(WORKBENCH)
        .arg("serve")
        .env("MCP_WORKBENCH_RUNS", directory.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("standard input");
    let file = directory.path().join("pid");
    let script = format!("echo $$ > {0}.new && mv {0}.new {0} && exec sleep 1000", file.display());
    let server = json!({ "command": "sh", "args": ["-c", script] });
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {}
    });
    let params = json!({ "name": "validate_server", "arguments": { "server": server }, "_meta": meta });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    writeln!(input, "{call}").expect("it listens");
    let pid = loop {
        match std::fs::read_to_string(&file) {
            Ok(pid) => break pid.trim().to_owned(),
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    let own = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(own, rustix::process::Signal::INT).expect("it runs");
    assert_eq!(exit_code_within(&mut child, Duration::from_secs(20)), Some(0));
    let left = std::path::Path::new("/proc").join(&pid);
    let end = std::time::Instant::now() + Duration::from_secs(10);
    while left.exists() && std::time::Instant::now() < end {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!left.exists(), "the validated server still runs");
}
