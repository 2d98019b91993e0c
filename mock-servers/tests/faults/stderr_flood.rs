use std::{io::Read, process::ChildStderr};

use serde_json::json;

use super::{
    process::{Process, in_time},
    wire::{fault, on_call},
};

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
