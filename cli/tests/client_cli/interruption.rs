//! Interruption with SIGINT.

use std::{os::unix::process::ExitStatusExt as _, process::Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::timeout;

use crate::kit::{Server, TIMEOUT, TestTransport};

#[tokio::test]
async fn an_interruption_cancels_the_call_at_the_server() {
    for (transport, revision) in [
        (TestTransport::Stdio, "2025-11-25"),
        (TestTransport::Stdio, "2026-07-28"),
        (TestTransport::Http, "2025-11-25"),
        (TestTransport::Sse, "2024-11-05"),
    ] {
        let server = Server::start(transport).await;
        let mut command = server.command(&["call", "stuck", "--revision", revision]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        server.wait_for("tools/call").await;
        let id = Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap()).unwrap();
        kill_process(id, Signal::INT).unwrap();
        let output = timeout(TIMEOUT, child.wait_with_output()).await.expect("an exit within the timeout").unwrap();
        // Shells detect the interruption by the signal.
        assert_eq!(output.status.signal(), Some(Signal::INT.as_raw()), "{transport:?} {revision}: {output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("cancelled"), "{output:?}");
        assert!(server.has_received("notifications/cancelled"), "{transport:?} {revision}: {:?}", server.frames());
    }
}

#[tokio::test]
async fn an_interruption_cancels_a_task_too() {
    let server = Server::start(TestTransport::Stdio).await;
    let mut command = server.command(&["call", "slow_compute", "seconds=600", "--revision", "2026-07-28"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    server.wait_for("tasks/get").await;
    let id = Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap()).unwrap();
    kill_process(id, Signal::INT).unwrap();
    let output = timeout(TIMEOUT, child.wait_with_output()).await.expect("an exit within the timeout").unwrap();
    assert_eq!(output.status.signal(), Some(Signal::INT.as_raw()), "{output:?}");
    assert!(server.has_received("tasks/cancel"), "{:?}", server.frames());
}
