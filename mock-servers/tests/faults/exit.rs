use std::{os::unix::process::ExitStatusExt, time::Duration};

use mcp_workbench_mock_servers::faults::{Exit, Signal};
use serde_json::json;

use super::{
    process::Process,
    wire::{End, MODERN, SEED, Server, fault, on_call},
};

fn status(exit: serde_json::Value) -> std::process::ExitStatus {
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
async fn over_http_the_owner_of_the_process_is_told_how_to_end_it() {
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
