//! Faults of the server's process.

use std::{os::unix::process::ExitStatusExt, time::Duration};

use mcp_workbench_mock_servers::faults::{Exit, Signal};
use serde_json::{Value, json};

use super::{
    process::Process,
    wire::{End, MODERN, SEED, Server, fault, on_call},
};

fn status(exit: Value) -> std::process::ExitStatus {
    let mut process = Process::initialized(&on_call(fault(json!({"exit": exit}))), 1);
    process.call(1);
    assert_eq!(process.rest(), b"");
    process.wait()
}

async fn stops(server: &Server) {
    tokio::time::timeout(Duration::from_secs(10), server.mock.stopped()).await.expect("the server ends");
}

#[test]
fn the_process_ends_with_its_code() {
    assert_eq!(status(json!({"code": 3})).code(), Some(3));
}

#[test]
fn the_process_dies_by_any_signal() {
    for (name, number) in
        [("SIGKILL", 9), ("SIGTERM", 15), ("SIGABRT", 6), ("SIGSEGV", 11), ("SIGPIPE", 13), ("SIGHUP", 1)]
    {
        assert_eq!(status(json!({"signal": name})).signal(), Some(number), "{name}");
    }
    assert_eq!(status(json!({"kill": true})).signal(), Some(9));
}

#[tokio::test]
async fn over_http_the_server_is_gone() {
    let server = Server::start(&on_call(fault(json!({"exit": {}}))), MODERN, SEED).await;
    let heard = server.call().await;
    assert_eq!((heard.end, heard.bytes.len()), (End::Closed, 0));
    stops(&server).await;
    assert_eq!(server.mock.exit(), Some(Exit::default()));
}

#[tokio::test]
async fn over_http_the_owner_of_the_process_gets_the_exit() {
    for (script, exit) in [
        (json!({"code": 7}), Exit { code: 7, ..Exit::default() }),
        (json!({"signal": "SIGABRT"}), Exit { signal: Some(Signal::Abrt), ..Exit::default() }),
    ] {
        let actions = fault(json!({ "exit": script }));
        let server = Server::start(&on_call(actions.clone()), MODERN, SEED).await;
        assert_eq!(server.mock.exit(), None);
        server.call().await;
        stops(&server).await;
        assert_eq!(server.mock.exit(), Some(exit.clone()));
        let server = super::talk::ended(&actions).await;
        assert_eq!(server.exit(), Some(exit));
    }
}

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
