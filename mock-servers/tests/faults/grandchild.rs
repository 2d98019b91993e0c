use serde_json::json;

use super::{
    process::Process,
    wire::{fault, on_call},
};

#[test]
fn a_process_is_started_in_the_middle_of_the_conversation() {
    let mut process = Process::initialized(&on_call(fault(json!({"grandchild": {"setsid": true}}))), 1);
    assert!(process.children().is_empty());
    process.call(1);
    assert_eq!(process.message()["id"], 1);
    let started = process.children();
    assert_eq!(started.len(), 1);
    process.kill_children();
}
