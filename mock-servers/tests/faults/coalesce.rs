use std::io::Read;

use serde_json::json;

use super::{
    process::{Process, in_time},
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
