//! Faults of lines, events and writes.

use std::io::Read;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{
    process::{self, Process, in_time},
    wire::{Server, answer, fault, on_call, plain, streamed, streamed_plain},
};

fn fragment(cut: Value) -> Value {
    json!({"fragment": {"cut": cut, "pause": "2ms"}})
}

#[tokio::test]
async fn bytes_come_in_pieces_of_any_size() {
    let (plain, heard) = (streamed_plain().await, streamed(fragment(json!({"every": 10}))).await);
    assert_eq!(heard.body(), plain.body());
    let chunks = heard.chunks();
    assert!(chunks.len() > 10 && chunks.iter().all(|chunk| chunk.len() <= 10));
    assert!(heard.took >= Duration::from_millis(2) * u32::try_from(chunks.len() - 2).unwrap());
    assert_eq!(plain.chunks().len(), 2);
}

#[tokio::test]
async fn cuts_go_through_characters_and_line_ends() {
    let chunks = streamed(fragment(json!("inside-utf8"))).await.chunks();
    assert!(chunks[0].ends_with(&[0xc3]) && chunks[1].starts_with(&[0xa9]), "{chunks:?}");
    let crlf = json!([{"fault": {"line-ends": "crlf"}}, {"fault": fragment(json!("inside-line-end"))}, {"notify": {"method": "a/b"}}]);
    let chunks = super::wire::answer(crlf).await.chunks();
    assert!(chunks[0].ends_with(b"\r") && chunks[1].starts_with(b"\n"), "{chunks:?}");
}

#[tokio::test]
async fn cuts_are_at_given_positions() {
    let chunks = streamed(fragment(json!({"at": [1, 3]}))).await.chunks();
    assert_eq!((chunks[0].len(), chunks[1].len()), (1, 2));
}

#[test]
fn over_stdio_the_pieces_take_their_time_and_the_server_goes_on_reading() {
    let script = on_call(json!({"fault": {"fragment": {"cut": {"every": 20}, "pause": "10ms"}}}));
    let mut process = Process::initialized(&script, 1);
    let start = Instant::now();
    process.call(1);
    let line = process.line();
    assert!(start.elapsed() >= Duration::from_millis(10) * u32::try_from(line.len() / 20 - 1).unwrap());
    assert_eq!(line.parse::<Value>().unwrap()["id"], 1);
    process.ping(2);
    assert_eq!(process.message()["id"], 2);
}

fn notifications(fault: bool) -> Value {
    let mut actions = vec![json!({"notify": {"method": "a/b"}}); 3];
    if fault {
        actions.insert(0, json!({"fault": {"coalesce": {"messages": 2}}}));
    }
    actions.into()
}

#[tokio::test]
async fn events_come_in_one_chunk() {
    let (coalesced, plain) = (answer(notifications(true)).await, answer(notifications(false)).await);
    let events = |chunk: &Vec<u8>| chunk.windows(6).filter(|window| window == b"event:").count();
    assert_eq!(coalesced.chunks().iter().map(events).collect::<Vec<_>>(), [2, 2]);
    assert_eq!(plain.chunks().iter().map(events).collect::<Vec<_>>(), [1, 1, 1, 1]);
    assert_eq!(coalesced.body(), plain.body());
}

#[test]
fn a_line_waits_for_the_next_one() {
    // What goes to standard error tells that the notification before it has been said.
    let actions = json!([
        {"fault": {"coalesce": {"messages": 9}}}, {"notify": {"method": "a/b"}},
        {"fault": {"stderr-flood": {"bytes": 80}}}, {"fault": "silence"},
    ]);
    let mut process = Process::initialized(&on_call(actions), 1);
    let mut stderr = process.child.stderr.take().unwrap();
    process.call(1);
    in_time(move || stderr.read_exact(&mut [0; 80]).unwrap());
    process.ping(2);
    // It still comes with the answer to the ping, in one write.
    let heard = process.until(|heard| !heard.is_empty());
    assert_eq!(heard.iter().filter(|byte| **byte == b'\n').count(), 2, "{}", String::from_utf8_lossy(&heard));
}

#[tokio::test]
async fn the_bytes_of_a_body_take_their_time() {
    let drip = fault(json!({"slow-drip": {"bytes": 20, "every": "2ms"}}));
    let (heard, plain) = (answer(drip.clone()).await, plain().await);
    assert_eq!(heard.without_date(), plain.without_date());
    let waits = u32::try_from((plain.body().len() - 1) / 20).unwrap();
    assert!(waits > 3 && heard.took >= Duration::from_millis(2) * waits);
}

#[tokio::test]
async fn the_bytes_of_events_come_one_by_one() {
    let heard = streamed(json!({"slow-drip": {"every": "0s"}})).await;
    assert!(heard.chunks().iter().all(|chunk| chunk.len() == 1));
    assert_eq!(heard.body(), streamed_plain().await.body());
}

#[test]
fn over_stdio_the_server_goes_on_reading_meanwhile() {
    let script =
        on_call(json!([fault(json!({"slow-drip": {"bytes": 10, "every": "5ms"}})), {"reply": {"text": "{{nth}}"}}]));
    let mut process = Process::initialized(&script, 1);
    let start = Instant::now();
    process.call(1);
    process.call(2);
    let line = process.line();
    assert!(start.elapsed() >= Duration::from_millis(5) * u32::try_from((line.len() - 1) / 10).unwrap());
    assert_eq!(process.message()["result"]["content"][0]["text"], "2");
}

#[tokio::test]
async fn lines_of_events_end_as_asked() {
    let plain = streamed_plain().await.text();
    for (kind, end) in [("crlf", "\r\n"), ("cr", "\r"), ("lf", "\n")] {
        let heard = streamed(json!({"line-ends": kind})).await;
        assert_eq!(heard.text(), plain.replace('\n', end));
    }
}

#[test]
fn lines_of_messages_end_as_asked() {
    let heard = process::crlf_answer(fault(json!({"line-ends": "crlf"})));
    assert!(heard.ends_with(b"}\r\n"));
}

/// What a session's call hears that is answered behind a notification.
async fn heard(actions: &[Value]) -> String {
    let notify = json!({"notify": {"method": "notifications/message", "params": {"level": "info", "data": "é"}}});
    let actions: Vec<Value> = actions.iter().cloned().chain([notify]).collect();
    Server::initialized(&on_call(actions)).await.call().await.text()
}

fn ids(heard: &str) -> usize {
    heard.lines().filter(|line| line.starts_with("id:")).count()
}

#[tokio::test]
async fn a_stream_that_could_be_resumed_has_no_ids() {
    let (faulty, plain) = (heard(&[fault("no-event-id")]).await, heard(&[]).await);
    assert_eq!(ids(&plain), 3, "one to begin with, and one for each message: {plain}");
    assert_eq!(ids(&faulty), 0, "{faulty}");
    let messages = |heard: &str| heard.lines().filter(|line| line.starts_with("data: {")).count();
    assert_eq!((messages(&faulty), messages(&plain)), (2, 2));
}

#[tokio::test]
async fn events_carry_a_retry_that_is_no_number() {
    let heard = streamed(json!({"bad-retry": "soon"})).await;
    let chunks = heard.chunks();
    assert!(chunks.iter().all(|chunk| chunk.starts_with(b"retry: soon\nevent: message\n")), "{heard:?}");
    let plain = streamed_plain().await;
    assert!(!plain.text().contains("retry: soon"));
    assert_eq!(heard.text().replace("retry: soon\n", ""), plain.text());
}
