//! A real client through `record`: the recording is judged on both sides, and repeated by a mock server.

use std::{fs, path::Path};

use serde_json::Value;

use crate::kit::{PROGRAM, bodies, frames, path, run, stdout};

/// Calls a tool that sends progress before its result with the built-in client, and returns what it printed.
fn call(server: &[&str]) -> String {
    call_in("2025-11-25", server)
}

fn call_in(revision: &str, server: &[&str]) -> String {
    let arguments = ["client", "call", "test_tool_with_progress", "--json", "--revision", revision, "--"];
    stdout(&run(&[&arguments[..], server].concat()), 0)
}

/// The command of a recorded server.
fn recorded<'a>(directory: &'a Path, server: &[&'a str]) -> Vec<&'a str> {
    [&[PROGRAM, "record", "--output", path(directory), "--"], server].concat()
}

/// The messages that the server sent before the client closed its input, without the ids of responses. Open subscriptions may
/// get a result at the end.
fn without_ids(directory: &Path) -> Vec<Value> {
    let mut frames = frames(directory);
    let end = frames.iter().position(|frame| frame["body"]["event"] == "closed-by-peer");
    frames.truncate(end.expect("the client closed its input"));
    let mut messages = bodies(&frames, "server-to-client");
    for message in &mut messages {
        message.as_object_mut().expect("an object").remove("id");
    }
    messages
}

#[test]
fn a_repeated_server_sends_the_recorded_messages() {
    let directory = tempfile::tempdir().expect("a directory");
    let [first, second, third] = ["first", "second", "third"].map(|name| directory.path().join(name));
    let mock = [PROGRAM, "mock", "stdio", "everything"];
    let direct = call(&mock);
    assert_eq!(call(&recorded(&first, &mock)), direct);
    let repeated = [PROGRAM, "mock", "stdio", "--from", path(&first)];
    assert_eq!(call(&recorded(&second, &repeated)), direct);
    assert_eq!(without_ids(&second), without_ids(&first));
    assert!(without_ids(&first).iter().any(|message| message["method"] == "notifications/progress"));

    let script = directory.path().join("script.json");
    fs::write(&script, stdout(&run(&["mock", "script", "--from", path(&first)]), 0)).expect("a file");
    let scripted = [PROGRAM, "mock", "stdio", path(&script)];
    assert_eq!(call(&recorded(&third, &scripted)), direct);
    assert_eq!(without_ids(&third), without_ids(&first));
}

#[test]
fn a_server_without_handshake_is_repeated_too() {
    let directory = tempfile::tempdir().expect("a directory");
    let [first, second] = ["first", "second"].map(|name| directory.path().join(name));
    let direct = call_in("2026-07-28", &recorded(&first, &[PROGRAM, "mock", "stdio", "everything"]));
    let repeated = [PROGRAM, "mock", "stdio", "--from", path(&first)];
    assert_eq!(call_in("2026-07-28", &recorded(&second, &repeated)), direct);
    assert_eq!(without_ids(&second), without_ids(&first));
}

#[test]
fn both_sides_of_a_correct_session_pass() {
    let directory = tempfile::tempdir().expect("a directory");
    call(&recorded(directory.path(), &[PROGRAM, "mock", "stdio", "everything"]));
    let report = stdout(&run(&["judge", path(directory.path())]), 0);
    assert!(report.contains("2 passed; 2 planned"), "{report}");
    let json = stdout(&run(&["judge", path(directory.path()), "--format", "json"]), 0);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let checks =
        json["cases"].as_array().expect("cases").iter().flat_map(|case| case["checks"].as_array().expect("checks"));
    let count = |verdict: &str| checks.clone().filter(|check| check["verdict"] == verdict).count();
    assert!(count("passed") > 20 && count("skipped") > 100, "{} passed, {} skipped", count("passed"), count("skipped"));
}

#[test]
fn the_fault_of_a_server_fails_in_its_recording() {
    let directory = tempfile::tempdir().expect("a directory");
    let script = directory.path().join("faulty.yaml");
    let fault = "extends: everything\non:\n  - when: { method: tools/call }\n    do: { reply: { result: { content: wrong } } }\n";
    fs::write(&script, fault).expect("a file");
    let recording = directory.path().join("recording");
    let server = [PROGRAM, "mock", "stdio", path(&script)];
    run(&[&["client", "call", "test_simple_text", "--"][..], &recorded(&recording, &server)].concat());
    let report = stdout(&run(&["judge", path(&recording)]), 1);
    assert!(report.contains("failed  recording/server@stdio@") && report.contains("content"), "{report}");
    assert!(!report.contains("failed  recording/client@"), "{report}");
}

#[test]
fn a_repeated_server_also_listens() {
    let directory = tempfile::tempdir().expect("a directory");
    call(&recorded(directory.path(), &[PROGRAM, "mock", "stdio", "everything"]));
    let mut server = std::process::Command::new(PROGRAM)
        .args(["mock", "serve", "--from", path(directory.path())])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut url = String::new();
    let mut output = std::io::BufReader::new(server.stdout.take().expect("a pipe"));
    std::io::BufRead::read_line(&mut output, &mut url).expect("its address");
    let called =
        run(&["client", "call", "test_tool_with_progress", "--json", "--revision", "2025-11-25", "--url", url.trim()]);
    let stopped = server.kill().and_then(|()| server.wait());
    assert!(stopped.is_ok());
    assert!(stdout(&called, 0).contains("content"), "{called:?}");
}
