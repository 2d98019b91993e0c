use std::io::Read;

use serde_json::json;

use super::{
    process::Process,
    wire::{fault, on_call},
};

#[test]
fn standard_error_gets_that_many_bytes() {
    let mut process = Process::initialized(&on_call(fault(json!({"stderr-flood": {"bytes": 100_040}}))), 1);
    let mut stderr = process.child.stderr.take().unwrap();
    process.call(1);
    let mut flood = vec![0; 100_040];
    stderr.read_exact(&mut flood).unwrap();
    assert!(flood.ends_with(b".\n"));
    assert_eq!(process.message()["id"], 1);
}

#[test]
fn a_client_that_does_not_read_it_gets_no_answer() {
    let mut process = Process::initialized(&on_call(fault(json!({"stderr-flood": {"bytes": 1_000_000}}))), 1);
    process.call(1);
    // The server is stuck in the middle of the flood, so what is read last is all that there is before the answer.
    let mut stderr = process.child.stderr.take().unwrap();
    let mut flood = vec![0; 999_999];
    stderr.read_exact(&mut flood[..1]).unwrap();
    assert!(process.nothing_yet());
    stderr.read_exact(&mut flood).unwrap();
    assert_eq!(process.message()["id"], 1);
}
