use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{
    process::Process,
    wire::{is_drawn, on_call, repeats, streamed, streamed_plain},
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
async fn cuts_are_at_given_places_or_drawn() {
    let chunks = streamed(fragment(json!({"at": [1, 3]}))).await.chunks();
    assert_eq!((chunks[0].len(), chunks[1].len()), (1, 2));
    let notify = json!({"notify": {"method": "a/b"}});
    is_drawn(json!([{"fault": fragment(json!({"random": 3}))}, notify])).await;
    repeats(json!([{"fault": fragment(json!({"at": [1]}))}, notify])).await;
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
