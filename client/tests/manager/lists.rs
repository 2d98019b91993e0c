//! Lists of tools: refreshed after changes, kept after errors, and cached per identity.

use std::time::Duration;

use mcp_workbench_client::{ClientEventKind, Status};
use serde_json::{Value, json};

use crate::{
    cast::{Cast, good, lazy, program, remote, until_status, usual, usual_for},
    support::{Answer, error, legacy, modern, result},
};

fn listing(message: &Value, tool: &str, hints: &Value) -> Vec<String> {
    let mut list = json!({
        "resultType": "complete",
        "tools": [{"name": tool, "inputSchema": {"type": "object"}}],
    });
    list.as_object_mut().unwrap().extend(hints.as_object().unwrap().clone());
    result(message, list)
}

/// A server with a different list for each request, which fails from the `broken`-th request on.
fn changing(era: &str, broken: usize) -> Answer {
    let mut lists = 0;
    let mut subscription = Value::Null;
    let rest = move |message: &Value| match message["method"].as_str() {
        Some("tools/list") => {
            lists += 1;
            if lists >= broken {
                return error(message, -32603);
            }
            listing(message, &format!("tool-{lists}"), &json!({"ttlMs": 3_600_000, "cacheScope": "private"}))
        }
        Some("subscriptions/listen") => {
            subscription = message["id"].clone();
            let meta = json!({"io.modelcontextprotocol/subscriptionId": subscription});
            let acknowledged = json!({
                "jsonrpc": "2.0",
                "method": "notifications/subscriptions/acknowledged",
                "params": {"_meta": meta, "notifications": {"toolsListChanged": true}},
            });
            vec![acknowledged.to_string()]
        }
        _ => usual_for(message, &subscription),
    };
    if era == "legacy" { Box::new(legacy(rest)) } else { Box::new(modern(rest)) }
}

#[tokio::test(start_paused = true)]
async fn a_burst_of_changes_is_one_refresh_in_both_eras() {
    for era in ["legacy", "modern"] {
        let cast = Cast::default().with("a", move |_| changing(era, usize::MAX));
        let manager = cast.manager();
        manager.apply(vec![program("a")]).await.unwrap();
        assert_eq!(manager.tools("a").await.unwrap().tools[0].name(), "tool-1", "{era}");
        let mut events = manager.events();
        for _ in 0..3 {
            manager.call("a", "poke", json!({}), Default::default()).await.unwrap();
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        while !matches!(events.recv().await.unwrap().kind, ClientEventKind::Refreshed { .. }) {}
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(cast.asked("a", "tools/list"), 2, "{era}");
        assert_eq!(manager.tools("a").await.unwrap().tools[0].name(), "tool-2", "{era}");
        assert_eq!(cast.asked("a", "tools/list"), 2, "{era}");
    }
}

#[tokio::test(start_paused = true)]
async fn endless_changes_do_not_delay_the_refresh_forever() {
    let cast = Cast::default().with("a", |_| changing("legacy", usize::MAX));
    let manager = cast.manager();
    manager.apply(vec![program("a")]).await.unwrap();
    manager.tools("a").await.unwrap();
    for _ in 0..30 {
        manager.call("a", "poke", json!({}), Default::default()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(cast.asked("a", "tools/list"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_list_is_kept_if_the_refresh_fails() {
    let cast = Cast::default().with("a", |_| changing("legacy", 2));
    let manager = cast.manager();
    manager.apply(vec![program("a")]).await.unwrap();
    manager.tools("a").await.unwrap();
    let mut events = manager.events();
    manager.call("a", "poke", json!({}), Default::default()).await.unwrap();
    while !matches!(events.recv().await.unwrap().kind, ClientEventKind::RefreshFailed { .. }) {}
    assert_eq!(manager.tools("a").await.unwrap().tools[0].name(), "tool-1");
    assert_eq!(manager.status("a"), Some(Status::Connected));
}

#[tokio::test(start_paused = true)]
async fn a_list_is_read_again_after_its_time_to_live() {
    let hints = json!({"ttlMs": 60_000, "cacheScope": "private"});
    let play = move |_| -> Answer {
        let hints = hints.clone();
        Box::new(modern(move |message| match message["method"].as_str() {
            Some("tools/list") => listing(message, "echo", &hints),
            _ => usual(message),
        }))
    };
    let cast = Cast::default().with("a", play);
    let manager = cast.manager();
    manager.apply(vec![program("a")]).await.unwrap();
    manager.tools("a").await.unwrap();
    tokio::time::sleep(Duration::from_secs(59)).await;
    manager.tools("a").await.unwrap();
    assert_eq!(cast.asked("a", "tools/list"), 1);
    tokio::time::sleep(Duration::from_secs(2)).await;
    manager.tools("a").await.unwrap();
    assert_eq!(cast.asked("a", "tools/list"), 2);
    // A fresh list needs no connection.
    manager.disconnect("a").await.unwrap();
    manager.tools("a").await.unwrap();
    assert_eq!((manager.status("a"), cast.starts("a").len()), (Some(Status::Disconnected), 1));
    tokio::time::sleep(Duration::from_secs(61)).await;
    manager.tools("a").await.unwrap();
    assert_eq!(cast.starts("a").len(), 2);
}

fn keeping(scope: &'static str, tool: &'static str) -> impl Fn(usize) -> Answer + Send + Sync {
    move |_| {
        Box::new(modern(move |message| match message["method"].as_str() {
            Some("tools/list") => listing(message, tool, &json!({"ttlMs": 60_000, "cacheScope": scope})),
            _ => usual(message),
        }))
    }
}

#[tokio::test(start_paused = true)]
async fn private_lists_are_cached_per_identity_and_public_ones_shared() {
    for (scope, seen_by_bob) in [("private", "bobs"), ("public", "anns")] {
        let cast = Cast::default().with("ann", keeping(scope, "anns")).with("bob", keeping(scope, "bobs"));
        let manager = cast.manager();
        let url = "http://127.0.0.1:1/mcp";
        manager.apply(vec![lazy(remote("ann", url, "a")), lazy(remote("bob", url, "b"))]).await.unwrap();
        assert_eq!(manager.tools("ann").await.unwrap().tools[0].name(), "anns");
        assert_eq!(manager.tools("bob").await.unwrap().tools[0].name(), seen_by_bob, "{scope}");
        assert_eq!(cast.starts("bob").is_empty(), scope == "public", "{scope}");
    }
}

#[tokio::test(start_paused = true)]
async fn two_accounts_have_separate_caches() {
    let cast = Cast::default().with("ann", keeping("private", "anns")).with("bob", keeping("private", "bobs"));
    let manager = cast.manager();
    let mut servers = ["ann", "bob"].map(|name| lazy(remote(name, "http://127.0.0.1:1/mcp", "same")));
    for server in &mut servers {
        server.account = Some(server.name().to_owned());
    }
    manager.apply(servers.into()).await.unwrap();
    assert_eq!(manager.tools("ann").await.unwrap().tools[0].name(), "anns");
    assert_eq!(manager.tools("bob").await.unwrap().tools[0].name(), "bobs");
}

#[tokio::test(start_paused = true)]
async fn a_change_invalidates_the_cache() {
    let cast = Cast::default().with("a", |_| changing("modern", usize::MAX)).with("b", good);
    let manager = cast.manager();
    let mut events = manager.events();
    manager.apply(vec![program("a")]).await.unwrap();
    until_status(&mut events, "a", "connected").await;
    manager.tools("a").await.unwrap();
    manager.call("a", "poke", json!({}), Default::default()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    manager.disconnect("a").await.unwrap();
    manager.tools("a").await.unwrap();
    assert_eq!(cast.starts("a").len(), 2);
}
