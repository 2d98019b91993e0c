//! Proof that `validate` turns red for the stated reason: mock servers, each with one thing wrong, and the check that has
//! to notice it. A sound server of the same kind passes everything.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use reports::{
    Run, Verdict,
    Verdict::{Failed, Warned},
};
use serde_json::{Value, json};

const WORKBENCH: &str = env!("CARGO_BIN_EXE_mcp-workbench");

/// What every server of the table has, before it is broken.
fn sound() -> Value {
    json!({
        "revisions": ["2025-11-25", "2026-07-28"],
        "capabilities": { "tools": {}, "logging": {} },
        "tools": [{ "name": "echo" }, { "name": "add" }]
    })
}

/// A rule that lays fields over the default result of a method.
fn patched(method: &str, patch: &Value) -> Value {
    json!({ "on": [{ "when": { "method": method }, "do": { "reply": { "patch": patch } } }] })
}

/// A rule that answers a method with this result.
fn answered(method: &str, result: &Value) -> Value {
    json!({ "on": [{ "when": { "method": method }, "do": { "reply": { "result": result } } }] })
}

fn tools(tools: &Value) -> Value {
    patched("tools/list", &json!({ "tools": tools }))
}

/// What is wrong with a server, the check that has to notice it, and how grave it is.
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
        (patched("initialize", &json!({ "capabilities": null })), "initialize-result", Failed),
        (patched("initialize", &json!({ "serverInfo": { "name": 7 } })), "initialize-result", Failed),
        (patched("server/discover", &json!({ "capabilities": null })), "discover-result", Failed),
        (patched("server/discover", &json!({ "supportedVersions": null })), "discover-result", Failed),
        (answered("ping", &json!({ "pong": true })), "ping-is-answered-empty", Failed),
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
            json!({ "on": [{ "when": { "method": "ping" }, "do": { "fault": "silence" } }] }),
            "requests-are-answered",
            Failed,
        ),
        (
            tools(&json!([{ "name": "a", "inputSchema": schema }, { "name": "a", "inputSchema": schema }])),
            "tool-names-are-unique",
            Warned,
        ),
        (tools(&json!([{ "name": "a b", "inputSchema": schema }])), "tool-names-are-plain", Warned),
        (tools(&json!([{ "name": "a" }])), "tool-input-schema-is-of-an-object", Failed),
        (
            tools(&json!([{ "name": "a", "inputSchema": { "type": "object", "properties": 5 } }])),
            "tool-schemas-are-valid",
            Failed,
        ),
        (tools(&json!([{ "inputSchema": schema }])), "tool-shape", Failed),
        (
            tools(&json!([{ "name": "a", "inputSchema": schema, "annotations": { "readOnlyHint": "yes" } }])),
            "tool-annotations",
            Failed,
        ),
        (tools(&json!("none")), "list-holds-a-list", Failed),
        (patched("tools/list", &json!({ "nextCursor": 5 })), "next-cursor-is-a-string", Failed),
        (patched("tools/list", &json!({ "tools": [], "nextCursor": "again" })), "pages-come-to-an-end", Failed),
        (
            answered("tools/call", &json!({ "content": [], "resultType": "complete" })),
            "unknown-tool-is-refused",
            Failed,
        ),
        (answered("logging/setLevel", &json!({})), "invalid-log-level-code", Warned),
        (patched("tools/list", &json!({ "resultType": null })), "result-type", Failed),
        (patched("tools/list", &json!({ "ttlMs": "long" })), "caching-hints", Failed),
    ]
}

/// Validates a mock server with this script.
fn validate(script: &Value, folder: &Path) -> Run {
    let file = folder.join("script.json");
    std::fs::write(&file, script.to_string()).expect("the script is written");
    let status = Command::new(WORKBENCH)
        .args(["validate", "--quiet", "--jobs", "8", "--format", "json", "--output"])
        .arg(folder)
        .args(["--", WORKBENCH, "mock", "stdio"])
        .arg(&file)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("the workbench starts");
    let run = std::fs::read_to_string(folder.join("run.json")).expect("a report");
    let run: Run = serde_json::from_str(&run).expect("a run");
    assert_eq!(status.success(), run.passed(), "the exit code says what the report says");
    run
}

#[test]
fn a_sound_server_passes_everything() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = validate(&sound(), folder.path());
    let bad: Vec<_> = run.cases.iter().filter(|case| case.verdict > Verdict::Passed).map(|case| &case.id).collect();
    assert!(run.passed() && bad.is_empty(), "{bad:?}");
}

/// What `validate` says of a server with this defect, where it is not what the table wants.
fn disagreement(defect: &Value, check: &str, wanted: Verdict) -> Option<String> {
    let mut script = sound();
    for (key, value) in defect.as_object().expect("an object") {
        script[key] = value.clone();
    }
    let folder = tempfile::tempdir().expect("a folder");
    let run = validate(&script, folder.path());
    let judgements = run.cases.iter().flat_map(|case| &case.checks);
    let found = judgements.filter(|judgement| judgement.id == check).map(|judgement| judgement.verdict).max();
    (found != Some(wanted)).then(|| format!("{check}: wanted {wanted:?} for {defect}, found {found:?}"))
}

#[test]
fn each_broken_server_is_told_by_its_check() {
    let table = table();
    // Several at a time: most of them are waited for.
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = table
            .chunks(3)
            .map(|rows| {
                scope.spawn(move || {
                    let rows = rows.iter();
                    rows.filter_map(|(defect, check, wanted)| disagreement(defect, check, *wanted)).collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
