use std::fs;

use evidence::{Body, FrameParts, Recorder};
use reports::model::Verdict;
use serde_json::json;

use super::*;
use crate::judge::recorded::judge_recording;

fn header() -> Header {
    Header {
        format: FORMAT,
        workbench: "0.1.0".to_owned(),
        transport: Transport::Stdio,
        target: "my-server".to_owned(),
    }
}

/// A recording of these messages: whether the client sent each, and its JSON.
fn recording(messages: &[(bool, Value)]) -> Recording {
    let directory = tempfile::tempdir().unwrap();
    let file = create(directory.path(), &header()).unwrap();
    let recorder = Recorder::latest(SERVER, 1, Some(&file)).unwrap();
    for (by_client, message) in messages {
        let body = Body::json(message.clone());
        recorder.record(if *by_client { FrameParts::received(7, body) } else { FrameParts::sent(7, body) });
    }
    Recording::read(directory.path()).unwrap()
}

/// A session in which a tool is called, and its result is this one.
fn session(result: Value) -> Vec<(bool, Value)> {
    let initialize =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } });
    let initialized = json!({
        "protocolVersion": "2025-06-18", "capabilities": { "tools": {} }, "serverInfo": { "name": "s", "version": "1" },
    });
    vec![
        (true, json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize })),
        (false, json!({ "jsonrpc": "2.0", "id": 1, "result": initialized })),
        (true, json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })),
        (
            true,
            json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": { "name": "echo", "arguments": { "text": "hi" }, "_meta": { "progressToken": "t" } } }),
        ),
        (
            false,
            json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progressToken": "t", "progress": 1 } }),
        ),
        (false, json!({ "jsonrpc": "2.0", "id": 2, "result": result })),
    ]
}

fn verdicts(recording: &Recording) -> Vec<(String, Verdict)> {
    let cases = judge_recording(recording.clone());
    let checks = cases.into_iter().flat_map(|case| case.checks);
    checks.map(|check| (check.id, check.verdict)).collect()
}

#[test]
fn a_correct_session_has_no_finding() {
    let found = verdicts(&recording(&session(json!({ "content": [{ "type": "text", "text": "hi" }] }))));
    let bad: Vec<_> = found.iter().filter(|(_, verdict)| *verdict > Verdict::Passed).collect();
    assert!(bad.is_empty(), "{bad:?}");
    let passed = found.iter().filter(|(_, verdict)| *verdict == Verdict::Passed).count();
    assert!(passed > 20, "only {passed} checks judged something");
    assert!(found.iter().all(|(_, verdict)| *verdict != Verdict::Blocked));
}

#[test]
fn a_defect_of_each_side_fails_on_its_side() {
    let mut messages = session(json!({ "content": "not an array" }));
    // The client reuses the id of an earlier request.
    messages.push((true, json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" })));
    let [client, server] = judge_recording(recording(&messages));
    let failed = |case: &reports::CaseResult| case.checks.iter().filter(|check| check.verdict.is_failure()).count();
    assert!(failed(&client) > 0, "{:?}", client.verdict);
    assert!(failed(&server) > 0, "{:?}", server.verdict);
}

#[test]
fn checks_that_need_a_scenario_are_skipped_with_the_reason() {
    let [_, server] = judge_recording(recording(&session(json!({ "content": [] }))));
    let skipped = server.checks.iter().find(|check| check.id == "handshake-completes").unwrap();
    assert_eq!(
        (skipped.verdict, skipped.observed.as_str()),
        (Verdict::Skipped, "only its scenarios provoke what it judges")
    );
}

#[test]
fn a_directory_has_the_recording_of_one_server() {
    let directory = tempfile::tempdir().unwrap();
    create(directory.path(), &header()).unwrap();
    create(directory.path(), &header()).unwrap();
    let other = Header { target: "other".to_owned(), ..header() };
    let error = create(directory.path(), &other).unwrap_err();
    assert!(
        error.to_string().ends_with("has the recording of my-server; give each server a directory of its own"),
        "{error}"
    );
    let newer = fs::read_to_string(directory.path().join(HEADER)).unwrap().replace("\"format\": 1", "\"format\": 9");
    fs::write(directory.path().join(HEADER), newer).unwrap();
    assert!(matches!(Recording::read(directory.path()), Err(RecordingError::Version { found: 9, .. })));
    assert!(!is_recording(&directory.path().join("elsewhere")));
}

#[test]
fn the_script_has_the_recorded_responses_and_new_tokens() {
    let result = json!({ "content": [{ "type": "text", "text": "hi" }] });
    let made = script::script(&recording(&session(result.clone())));
    assert_eq!(made.notes, Vec::<String>::new());
    let rules = serde_json::to_value(&made.script.on).unwrap();
    assert_eq!(rules[0]["when"], json!({ "method": "tools/call", "tool": "echo", "arguments": { "text": "hi" } }));
    let actions = rules[0]["do"].as_array().unwrap();
    assert_eq!(actions[0]["notify"]["params"]["progressToken"], "{{params._meta.progressToken}}");
    assert_eq!(actions[1]["reply"]["result"], result);
    assert_eq!(made.script.revisions, Some(vec!["2025-06-18".to_owned()]));
}

#[test]
fn different_responses_to_one_request_follow_each_other_and_the_last_one_repeats() {
    let mut messages = session(json!({ "content": [] }));
    for (id, text) in [(3, "a"), (4, "b"), (5, "b")] {
        messages
            .push((true, json!({ "jsonrpc": "2.0", "id": id, "method": "resources/read", "params": { "uri": "x:" } })));
        messages.push((
            false,
            json!({ "jsonrpc": "2.0", "id": id, "result": { "contents": [{ "uri": "x:", "text": text }] } }),
        ));
    }
    let made = script::script(&recording(&messages));
    let rules: Vec<_> = made.script.on.iter().filter(|rule| rule.when.uri.is_some()).collect();
    let counters: Vec<_> = rules.iter().map(|rule| (rule.when.nth, rule.when.from_nth)).collect();
    assert_eq!(counters, [(Some(1), None), (None, Some(2))]);
}

#[test]
fn the_mock_server_ends_subscriptions_itself() {
    let mut messages = session(json!({ "content": [] }));
    messages.push((true, json!({ "jsonrpc": "2.0", "id": 9, "method": "subscriptions/listen", "params": {} })));
    messages.push((false, json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "data": 1 } })));
    messages.push((false, json!({ "jsonrpc": "2.0", "id": 9, "result": { "resultType": "complete" } })));
    let made = script::script(&recording(&messages));
    assert_eq!(made.notes, Vec::<String>::new());
    assert!(made.script.on.iter().all(|rule| rule.when.method.as_deref() != Some("subscriptions/listen")));
}
