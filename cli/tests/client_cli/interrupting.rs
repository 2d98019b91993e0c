//! Ctrl-C.

use std::{os::unix::process::ExitStatusExt as _, process::Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::timeout;

use crate::kit::{BOUND, Server, Way};

#[tokio::test]
async fn an_interruption_cancels_the_call_at_the_server() {
    for (way, revision) in
        [(Way::Stdio, "2025-11-25"), (Way::Stdio, "2026-07-28"), (Way::Http, "2025-11-25"), (Way::Sse, "2024-11-05")]
    {
        let server = Server::start(way).await;
        let mut command = server.command(&["call", "stuck", "--revision", revision]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        server.until_heard("tools/call").await;
        let id = Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap()).unwrap();
        kill_process(id, Signal::INT).unwrap();
        let output = timeout(BOUND, child.wait_with_output()).await.expect("an end in time").unwrap();
        // Shells read from the signal that the user wanted it.
        assert_eq!(output.status.signal(), Some(Signal::INT.as_raw()), "{way:?} {revision}: {output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("cancelled"), "{output:?}");
        assert!(server.heard("notifications/cancelled"), "{way:?} {revision}: {:?}", server.frames());
    }
}

#[tokio::test]
async fn an_interruption_cancels_a_task_too() {
    let server = Server::start(Way::Stdio).await;
    let mut command = server.command(&["call", "slow_compute", "seconds=600", "--revision", "2026-07-28"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    server.until_heard("tasks/get").await;
    let id = Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap()).unwrap();
    kill_process(id, Signal::INT).unwrap();
    let output = timeout(BOUND, child.wait_with_output()).await.expect("an end in time").unwrap();
    assert_eq!(output.status.signal(), Some(Signal::INT.as_raw()), "{output:?}");
    assert!(server.heard("tasks/cancel"), "{:?}", server.frames());
}
