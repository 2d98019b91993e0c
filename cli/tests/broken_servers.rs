//! Mock servers with one defect each, and the check of `validate` that must fail. A conforming server passes all checks.

use std::{
    io::{BufRead, BufReader},
    net::TcpListener,
    path::Path,
    process::{Command, Stdio},
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
    let mut server = Command::new(WORKBENCH)
        .args(["mock", "serve", "minimal", "--transport", "http", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the server starts");
    let mut url = String::new();
    BufReader::new(server.stdout.take().expect("an output")).read_line(&mut url).expect("the URL");
    let port = url.trim().split([':', '/']).nth(4).expect("a port").to_owned();
    let alone = verdict_on_addresses(url.trim());
    let other = TcpListener::bind(format!("127.0.0.2:{port}")).expect("a free port");
    let with_other = verdict_on_addresses(url.trim());
    drop(other);
    server.kill().and_then(|()| server.wait()).expect("the server ends");
    assert_eq!((alone, with_other), (Some(Verdict::Passed), Some(Warned)));
}
