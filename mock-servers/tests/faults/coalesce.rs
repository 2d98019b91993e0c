use serde_json::json;

use super::{
    process::Process,
    wire::{answer, on_call, repeats},
};

fn notifications(fault: bool) -> serde_json::Value {
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
    repeats(notifications(true)).await;
}

#[test]
fn a_line_waits_for_the_next_one() {
    let actions =
        json!([{"fault": {"coalesce": {"messages": 9}}}, {"notify": {"method": "a/b"}}, {"fault": "silence"}]);
    let mut process = Process::initialized(&on_call(actions), 1);
    process.call(1);
    // The notification was said before the answer to the ping, and still comes with it.
    process.ping(2);
    let heard = process.until(|heard| heard.ends_with(b"}\n"));
    assert_eq!(heard.iter().filter(|byte| **byte == b'\n').count(), 2, "{}", String::from_utf8_lossy(&heard));
}
