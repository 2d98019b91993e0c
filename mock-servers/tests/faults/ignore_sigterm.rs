use std::os::unix::process::ExitStatusExt;

use super::{
    process::Process,
    wire::{fault, on_call},
};

#[test]
fn sigterm_is_ignored_from_its_turn_on() {
    let mut process = Process::initialized(&on_call(fault("ignore-sigterm")), 1);
    process.call(1);
    assert_eq!(process.message()["id"], 1);
    process.terminate();
    // The signal is taken in the order of its arrival, before the end of the input that follows it.
    process.ping(2);
    assert_eq!(process.message()["id"], 2);
    process.close_input();
    let status = process.wait();
    assert_eq!((status.code(), status.signal()), (Some(0), None));
}

#[test]
fn before_its_turn_it_is_not() {
    let mut process = Process::initialized(&on_call(fault("ignore-sigterm")), 1);
    process.terminate();
    assert_eq!(process.wait().code(), Some(0));
}
