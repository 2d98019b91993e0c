//! Faults of extra output. `seed.rs` tests that their bytes do not depend on the seed.

use std::{io::Read, process::ChildStderr};

use serde_json::json;

use super::{
    process::{self, Process, in_time},
    wire::{answer, fault, on_call, plain},
};

#[tokio::test]
async fn an_event_contains_the_text() {
    let heard = answer(fault(json!({"garbage": "<{{id}}>"}))).await;
    let expected = format!("event: message\ndata: <1>\n\nevent: message\ndata: {}\n\n", plain().await.text());
    assert_eq!(heard.text(), expected);
}

#[test]
fn a_line_contains_the_text() {
    let heard = process::answer(fault(json!({"garbage": "Traceback:"})));
    assert_eq!(heard, [b"Traceback:\n", process::answer("default").as_slice()].concat());
}

#[test]
fn log_lines_precede_the_message() {
    let heard = process::answer(fault(json!({"log-lines": {"count": 2, "text": "WARN x"}})));
    assert_eq!(heard, [b"WARN x 1\nWARN x 2\n", process::answer("default").as_slice()].concat());
}

#[test]
fn a_log_line_splits_the_message() {
    let heard = process::answer(fault(json!({"log-lines": {"text": "WARN x", "where": "inside"}})));
    let text = String::from_utf8(heard).unwrap();
    let (before, after) = text.split_once("WARN x 1\n").unwrap();
    assert_eq!(format!("{before}{after}").as_bytes(), process::answer("default"));
    assert!(before.starts_with('{') && after.ends_with("}\n"));
}

#[tokio::test]
async fn log_lines_are_events_over_http() {
    let lines = fault(json!({"log-lines": {"text": "WARN x"}}));
    let expected = format!("event: message\ndata: WARN x 1\n\nevent: message\ndata: {}\n\n", plain().await.text());
    assert_eq!(answer(lines.clone()).await.text(), expected);
}

#[tokio::test]
async fn many_notifications_precede_the_response() {
    let flood = fault(json!({"notification-flood": {"count": 500}}));
    let events = answer(flood.clone()).await.events();
    assert_eq!(events.len(), 501);
    let entry = json!({"level": "info", "logger": "flood", "data": 500});
    assert_eq!(events[499], json!({"jsonrpc": "2.0", "method": "notifications/message", "params": entry}));
    assert_eq!(events[500], plain().await.json());
}

#[test]
fn a_flood_has_any_method_and_parameters() {
    let flood = json!({"notification-flood": {"count": 3, "method": "a/b", "params": {"x": 1}}});
    let text = String::from_utf8(process::answer(fault(flood))).unwrap();
    let flood = json!({"jsonrpc": "2.0", "method": "a/b", "params": {"x": 1}}).to_string();
    assert_eq!(text.lines().filter(|line| *line == flood).count(), 3);
}

/// So many bytes of standard error, and what is left of it.
fn read(mut stderr: ChildStderr, count: usize) -> (ChildStderr, Vec<u8>) {
    in_time(move || {
        let mut bytes = vec![0; count];
        stderr.read_exact(&mut bytes).unwrap();
        (stderr, bytes)
    })
}

#[test]
fn standard_error_gets_that_many_bytes() {
    let mut process = Process::initialized(&on_call(fault(json!({"stderr-flood": {"bytes": 100_040}}))), 1);
    let stderr = process.child.stderr.take().unwrap();
    process.call(1);
    let (_stderr, flood) = read(stderr, 100_040);
    assert!(flood.ends_with(b".\n"));
    assert_eq!(process.message()["id"], 1);
}

#[test]
fn a_client_that_does_not_read_it_gets_no_answer() {
    let mut process = Process::initialized(&on_call(fault(json!({"stderr-flood": {"bytes": 1_000_000}}))), 1);
    process.call(1);
    // The server is stuck in the middle of the flood, so what is read last is all that there is before the answer.
    let (stderr, _) = read(process.child.stderr.take().unwrap(), 1);
    assert!(process.nothing_yet());
    let (_stderr, _) = read(stderr, 999_999);
    assert_eq!(process.message()["id"], 1);
}
