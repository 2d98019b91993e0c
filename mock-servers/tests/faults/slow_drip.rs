use std::time::{Duration, Instant};

use serde_json::json;

use super::{
    process::Process,
    wire::{answer, fault, on_call, plain, repeats, streamed, streamed_plain},
};

#[tokio::test]
async fn the_bytes_of_a_body_take_their_time() {
    let drip = fault(json!({"slow-drip": {"bytes": 20, "every": "2ms"}}));
    let (heard, plain) = (answer(drip.clone()).await, plain().await);
    assert_eq!(heard.without_date(), plain.without_date());
    let waits = u32::try_from((plain.body().len() - 1) / 20).unwrap();
    assert!(waits > 3 && heard.took >= Duration::from_millis(2) * waits);
    repeats(drip).await;
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
