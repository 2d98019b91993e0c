use serde_json::json;

use super::{
    process::Process,
    wire::{fault, on_call},
};

fn cancelled(kind: &str) -> Process {
    let mut process = Process::initialized(&on_call(fault(json!({kind: "200ms"}))), 1);
    process.call(1);
    process.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    process.ping(2);
    process
}

#[test]
fn an_answer_comes_in_spite_of_the_cancellation() {
    let mut late = cancelled("late-reply");
    // By the answer to the ping the cancellation has arrived, and the answer to the call is still to come.
    assert_eq!([late.message()["id"].clone(), late.message()["id"].clone()], [2, 1]);
    let mut obedient = cancelled("delay");
    assert_eq!(obedient.message()["id"], 2);
    // What would have come before another answer, had it not been cancelled, does not.
    obedient.call(3);
    assert_eq!(obedient.message()["id"], 3);
}
