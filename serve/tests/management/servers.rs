//! Servers: adding, connecting, tools, events and redaction.

use std::time::Duration;

use agent::policy::{Platform, Policy, PolicyDirectory};
use futures::StreamExt as _;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::kit::{Api, TOKEN, TestBrowser, is_error, mock_server};

#[tokio::test]
async fn a_server_is_added_used_disconnected_connected_and_removed() {
    let api = Api::start().await;
    let server = mock_server().await;
    let config = json!({ "type": "http", "url": server.url(), "startupTimeoutMs": 5000 });
    let (status, all) = api.post("/mcp", Some(json!({ "name": "mock", "config": config }))).await;
    assert_eq!((status, &all), (StatusCode::OK, &json!({ "mock": { "status": "connected" } })));
    let (_, tools) = api.get("/mcp/mock/tools").await;
    assert_eq!((&tools["tools"][0]["name"], &tools["rejected"]), (&json!("echo"), &json!([])));
    assert_eq!(api.post("/mcp/mock/disconnect", None).await, (StatusCode::OK, json!(true)));
    assert_eq!(api.get("/mcp").await.1, json!({ "mock": { "status": "disconnected" } }));
    assert_eq!(api.post("/mcp/mock/connect", None).await, (StatusCode::OK, json!(true)));
    assert_eq!(api.get("/mcp").await.1["mock"]["status"], "connected");

    // Another one of this name takes its place.
    let config = json!({ "type": "http", "url": server.url(), "enabled": false });
    let (_, all) = api.post("/mcp", Some(json!({ "name": "mock", "config": config }))).await;
    assert_eq!(all, json!({ "mock": { "status": "disabled" } }));
    is_error(&api.post("/mcp/mock/connect", None).await, 409, "disabled");
    assert_eq!(api.send(Method::DELETE, "/mcp/mock", None).await, (StatusCode::OK, json!({})));
    for (method, path) in [
        (Method::DELETE, "/mcp/mock"),
        (Method::POST, "/mcp/mock/connect"),
        (Method::POST, "/mcp/mock/disconnect"),
        (Method::GET, "/mcp/mock/tools"),
        (Method::POST, "/mcp/mock/auth"),
        (Method::DELETE, "/mcp/mock/auth"),
        (Method::POST, "/mcp/mock/auth/authenticate"),
    ] {
        is_error(&api.send(method, path, None).await, 404, "unknown-server");
    }
    api.management.close().await;
}

#[tokio::test]
async fn a_failed_start_is_reported_without_secrets_and_affects_no_other_server() {
    let api = Api::start().await;
    let server = mock_server().await;
    let secret = "s3cr3t-of-the-server";
    let script = "echo \"cannot use $KEY\" >&2; exit 3";
    let config = json!({
        "type": "stdio", "command": "sh", "args": ["-c", script], "env": { "KEY": secret }, "startupTimeoutSec": 2
    });
    let (status, all) = api.post("/mcp", Some(json!({ "name": "broken", "config": config }))).await;
    assert_eq!(status, StatusCode::OK, "that it does not start is no error of the request");
    assert_eq!(all["broken"]["status"], "failed", "{all}");
    let (_, all) =
        api.post("/mcp", Some(json!({ "name": "fine", "config": { "type": "http", "url": server.url() } }))).await;
    assert_eq!((&all["fine"]["status"], &all["broken"]["status"]), (&json!("connected"), &json!("failed")));
    let refused = api.post("/mcp/broken/connect", None).await;
    assert_eq!(refused.0, StatusCode::BAD_GATEWAY);
    let words = refused.1["error"]["message"].as_str().expect("words");
    assert!(words.contains("cannot use •••"), "what the server said is received, without what is secret: {words}");
    for text in [all.to_string(), refused.1.to_string(), api.get("/mcp").await.1.to_string()] {
        assert!(!text.contains(secret), "{text}");
    }
    is_error(&api.post("/mcp/broken/auth", None).await, 400, "no-oauth");
    api.management.close().await;
}

#[tokio::test]
async fn status_changes_are_sent_as_events() {
    let api = Api::start().await;
    let server = mock_server().await;
    let config = json!({ "type": "http", "url": server.url() });
    api.post("/mcp", Some(json!({ "name": "one", "config": config }))).await;
    let events = api.request(Method::GET, "/mcp/events").bearer_auth(TOKEN).send().await.expect("a stream");
    assert_eq!(events.headers()["content-type"], "text/event-stream");
    let mut events = events.bytes_stream();
    let mut text = String::new();
    let mut until = async |wanted: &dyn Fn(&[Value]) -> bool| {
        let found = async {
            loop {
                let lines = text.lines().filter_map(|line| line.strip_prefix("data: "));
                let received: Vec<Value> = lines.filter_map(|line| serde_json::from_str(line).ok()).collect();
                if wanted(&received) {
                    return true;
                }
                match events.next().await {
                    Some(Ok(bytes)) => text.push_str(&String::from_utf8_lossy(&bytes)),
                    _ => return wanted(&received),
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(10), found).await.unwrap_or(false)
    };
    let said = |received: &[Value], server: &str, status: &str| {
        received.iter().any(|one| one["server"] == server && one["status"] == status)
    };
    assert!(until(&|received| said(received, "one", "connected")).await, "first how all are doing");
    api.post("/mcp", Some(json!({ "name": "two", "config": config }))).await;
    assert!(
        until(&|received| said(received, "two", "connecting") && said(received, "two", "connected")).await,
        "then each change"
    );
    api.management.close().await;
    let ended = async { while let Some(Ok(_)) = events.next().await {} };
    tokio::time::timeout(Duration::from_secs(10), ended).await.expect("the stream ends with the API");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_administrator_denies_is_not_added() {
    let root = tempfile::tempdir().expect("a folder");
    let directory = PolicyDirectory::own(Platform::Linux);
    let settings = directory.settings(root.path());
    std::fs::create_dir_all(settings.parent().expect("a parent")).expect("a folder");
    std::fs::write(&settings, r#"{"deniedMcpServers": [{"serverName": "evil"}]}"#).expect("a file");
    let api = Api::with_policy(Policy::read(&directory, root.path()), TestBrowser::default()).await;
    let server = mock_server().await;
    let config = json!({"type": "http", "url": server.url()});
    is_error(&api.post("/mcp", Some(json!({"name": "evil", "config": config}))).await, 403, "not-allowed");
    let (status, received) = api.post("/mcp", Some(json!({"name": "good", "config": config}))).await;
    assert_eq!((status, received.as_object().map(serde_json::Map::len)), (StatusCode::OK, Some(1)), "{received}");
    api.management.close().await;
}
