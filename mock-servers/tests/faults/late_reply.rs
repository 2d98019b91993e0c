use serde_json::json;

use super::{
    process::Process,
    wire::{fault, on_call},
};

fn cancelled(kind: &str) -> Process {
    let mut process = Process::initialized(&on_call(fault(json!({kind: "5ms"}))), 1);
    process.call(1);
    process.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    process
}

#[test]
fn an_answer_comes_in_spite_of_the_cancellation() {
    assert_eq!(cancelled("late-reply").message()["id"], 1);
    let mut obedient = cancelled("delay");
    obedient.close_input();
    assert_eq!(obedient.rest(), b"");
}
