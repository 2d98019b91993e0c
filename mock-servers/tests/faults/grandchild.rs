use std::fs;

use serde_json::json;

use super::{
    process::Process,
    wire::{fault, on_call},
};

/// The children of a process, as the system has them.
fn children(process: &Process) -> Vec<String> {
    let pid = process.child.id();
    let all = fs::read_dir(format!("/proc/{pid}/task")).unwrap().map(|task| task.unwrap().path().join("children"));
    all.flat_map(|path| {
        let text = fs::read_to_string(path).unwrap_or_default();
        text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    })
    .collect()
}

#[test]
fn a_process_is_started_in_the_middle_of_the_conversation() {
    let mut process = Process::initialized(&on_call(fault(json!({"grandchild": {"setsid": true}}))), 1);
    assert!(children(&process).is_empty());
    process.call(1);
    assert_eq!(process.message()["id"], 1);
    let started = children(&process);
    assert_eq!(started.len(), 1);
    let pid = rustix::process::Pid::from_raw(started[0].parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}
