//! Restarts and their limits.

use std::time::Duration;

use mcp_workbench_client::{CallError, Era, ManagedServer, Manager, Status, manager::UseError};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    cast::{Cast, crashing, good, next_status, program, remote, until_status, usual},
    support::{Answer, initialize_result, legacy, result, until_sent},
};

async fn die(manager: &Manager, name: &str) {
    let died = manager.call(name, "die", json!({}), Default::default()).await;
    assert!(matches!(died, Err(UseError::Call(CallError::ConnectionLost { .. }))), "{died:?}");
}

/// Whether each delay is the doubled one, or up to a half longer.
fn assert_waits(starts: &[Instant], seconds: &[u64]) {
    let waits: Vec<_> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(waits.len(), seconds.len(), "{waits:?}");
    for (wait, plain) in waits.iter().zip(seconds) {
        let plain = Duration::from_secs(*plain);
        assert!(*wait >= plain && *wait <= plain * 3 / 2 + Duration::from_millis(2), "{waits:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_exited_process_is_started_on_demand() {
    let cast = Cast::default().with("a", good);
    let manager = cast.manager();
    manager.apply(vec![program("a")]).await.unwrap();
    die(&manager, "a").await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!((manager.status("a"), cast.starts("a").len()), (Some(Status::Disconnected), 1));
    let again = manager.call("a", "echo", json!({}), Default::default()).await.unwrap();
    assert_eq!((again.text().as_str(), cast.starts("a").len()), ("done", 2));
}

/// A server with resources.
fn with_resources(_: usize) -> Answer {
    let mut without = legacy(|message: &Value| match message["method"].as_str() {
        Some("resources/subscribe" | "resources/unsubscribe") => result(message, json!({})),
        _ => usual(message),
    });
    Box::new(move |message| match message["method"].as_str() {
        Some("initialize") => {
            let mut greeting = initialize_result(message["params"]["protocolVersion"].clone());
            greeting["capabilities"]["resources"] = json!({ "subscribe": true });
            result(message, greeting)
        }
        _ => without(message),
    })
}

#[tokio::test(start_paused = true)]
async fn a_restarted_process_gets_the_subscriptions_again() {
    let cast = Cast::default().with("a", with_resources);
    let manager = cast.manager();
    manager.apply(vec![program("a")]).await.unwrap();
    let connection = manager.connection("a").await.unwrap();
    for uri in ["file:///kept", "file:///ended"] {
        connection.subscribe_resource(uri).await.unwrap();
    }
    connection.unsubscribe_resource("file:///ended").await.unwrap();
    die(&manager, "a").await;
    manager.call("a", "echo", json!({}), Default::default()).await.unwrap();
    assert_eq!(cast.starts("a").len(), 2);
    let transcript = cast.transcript("a");
    let subscribed = until_sent(&transcript, "resources/subscribe").await;
    assert_eq!(subscribed["params"]["uri"], "file:///kept");
    manager.call("a", "echo", json!({}), Default::default()).await.unwrap();
    assert_eq!(cast.asked("a", "resources/subscribe"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_process_that_keeps_exiting_is_only_restarted_explicitly() {
    let cast = Cast::default().with("a", good);
    let manager = cast.manager();
    manager.apply(vec![program("a")]).await.unwrap();
    for _ in 0..6 {
        die(&manager, "a").await;
    }
    assert_waits(&cast.starts("a"), &[1, 2, 4, 8, 16]);
    let refused = manager.call("a", "echo", json!({}), Default::default()).await.unwrap_err();
    assert_eq!((refused.kind(), cast.starts("a").len()), ("gave-up", 6));
    assert_eq!(manager.status("a").unwrap().as_str(), "failed");
    manager.connect("a").await.unwrap();
    assert_eq!((manager.status("a"), cast.starts("a").len()), (Some(Status::Connected), 7));
}

#[tokio::test(start_paused = true)]
async fn a_long_connection_resets_the_failures() {
    let cast = Cast::default().with("a", good);
    let manager = cast.manager();
    manager.apply(vec![program("a")]).await.unwrap();
    for _ in 0..10 {
        manager.connection("a").await.unwrap();
        tokio::time::sleep(Duration::from_secs(31)).await;
        die(&manager, "a").await;
    }
    assert_eq!(cast.starts("a").len(), 10);
}

fn back_at_the_fourth(start: usize) -> Answer {
    if (2..4).contains(&start) { crashing(start) } else { good(start) }
}

#[tokio::test(start_paused = true)]
async fn a_remote_server_is_reconnected() {
    let cast = Cast::default().with("a", back_at_the_fourth);
    let manager = cast.manager();
    manager.apply(vec![remote("a", "http://127.0.0.1:1/mcp", "x")]).await.unwrap();
    manager.connection("a").await.unwrap();
    let mut events = manager.events();
    die(&manager, "a").await;
    let seen =
        [next_status(&mut events, "a").await, next_status(&mut events, "a").await, next_status(&mut events, "a").await];
    assert_eq!(seen, ["disconnected", "connecting", "connected"]);
    assert_waits(&cast.starts("a"), &[1, 2, 4]);
}

#[tokio::test(start_paused = true)]
async fn a_remote_server_fails_after_too_many_attempts() {
    let cast = Cast::default().with("a", |start| if start == 1 { good(start) } else { crashing(start) });
    let manager = cast.manager();
    manager.apply(vec![remote("a", "http://127.0.0.1:1/mcp", "x")]).await.unwrap();
    manager.connection("a").await.unwrap();
    let mut events = manager.events();
    die(&manager, "a").await;
    until_status(&mut events, "a", "failed").await;
    assert_waits(&cast.starts("a"), &[1, 2, 4, 8, 16]);
    assert_eq!(manager.connection("a").await.unwrap_err().kind(), "gave-up");
}

#[tokio::test(start_paused = true)]
async fn a_permanent_error_is_not_retried() {
    let cast = Cast::default().with("a", |_| Box::new(|message| crate::support::error(message, -32022)));
    let manager = cast.manager();
    let pinned = mcp_workbench_client::RevisionChoice::Pinned("2026-07-28".parse().unwrap());
    let mut server = program("a");
    server.config.protocol = pinned;
    manager.apply(vec![ManagedServer { required: true, ..server }]).await.unwrap_err();
    let first = manager.connection("a").await.unwrap_err();
    let second = manager.connection("a").await.unwrap_err();
    assert_eq!((first.kind(), second.kind(), cast.starts("a").len()), ("version-mismatch", "version-mismatch", 1));
}

#[tokio::test(start_paused = true)]
async fn the_era_of_an_origin_is_remembered_and_that_of_a_process_is_not() {
    let remote = remote("a", "http://127.0.0.1:1/mcp", "x");
    for (server, known) in [(remote, Some(Era::Legacy)), (program("a"), None)] {
        let cast = Cast::default().with("a", good);
        let manager = cast.manager();
        manager.apply(vec![server]).await.unwrap();
        manager.connect("a").await.unwrap();
        manager.disconnect("a").await.unwrap();
        manager.connect("a").await.unwrap();
        let eras: Vec<_> = cast.remembered().iter().map(|one| one.map(|one| one.era)).collect();
        assert_eq!(eras, [None, known]);
    }
}
