//! The management API of the program.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::kit::{Serving, WORKBENCH};

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_added_used_and_ended_with_the_api() {
    let folder = tempfile::tempdir().expect("a folder");
    let serving = Serving::start(&["--management", "127.0.0.1:0"], None, folder.path());
    let (url, token) = (serving.url.clone(), serving.token.clone().expect("a token was made"));
    let http = client::http_client::builder().timeout(Duration::from_secs(30)).build().expect("a client");
    assert_eq!(http.get(format!("{url}/healthz")).send().await.expect("an answer").status(), StatusCode::OK);
    assert_eq!(http.get(format!("{url}/mcp")).send().await.expect("an answer").status(), StatusCode::UNAUTHORIZED);
    let config = json!({ "type": "stdio", "command": WORKBENCH, "args": ["mock", "stdio", "everything"] });
    let added = http.post(format!("{url}/mcp")).bearer_auth(&token).json(&json!({ "name": "mock", "config": config }));
    let added: Value = added.send().await.expect("an answer").json().await.expect("JSON");
    assert_eq!(added, json!({ "mock": { "status": "connected" } }));
    let tools = http.get(format!("{url}/mcp/mock/tools")).bearer_auth(&token).send().await.expect("an answer");
    let tools: Value = tools.json().await.expect("JSON");
    assert!(tools["tools"].as_array().is_some_and(|tools| tools.len() > 3), "{tools}");
    let code = tokio::task::spawn_blocking(move || serving.interrupt()).await.expect("no panic");
    assert_eq!(code, Some(0));
}
