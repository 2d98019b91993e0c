//! `serve --management`.

use reqwest::StatusCode;
use serde_json::{Value, json};
use test_support::http_client;

use crate::kit::{Serving, WORKBENCH};

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_added_and_used_with_the_api() {
    let directory = tempfile::tempdir().expect("a directory");
    let serving = Serving::start(&["--management", "127.0.0.1:0"], None, directory.path());
    let (url, token) = (serving.url.clone(), serving.token.clone().expect("a token was made"));
    let http = http_client();
    assert_eq!(http.get(format!("{url}/healthz")).send().await.expect("a response").status(), StatusCode::OK);
    assert_eq!(http.get(format!("{url}/mcp")).send().await.expect("a response").status(), StatusCode::UNAUTHORIZED);
    let config = json!({ "type": "stdio", "command": WORKBENCH, "args": ["mock", "stdio", "everything"] });
    let added = http.post(format!("{url}/mcp")).bearer_auth(&token).json(&json!({ "name": "mock", "config": config }));
    let added: Value = added.send().await.expect("a response").json().await.expect("JSON");
    assert_eq!(added, json!({ "mock": { "status": "connected" } }));
    let tools = http.get(format!("{url}/mcp/mock/tools")).bearer_auth(&token).send().await.expect("a response");
    let tools: Value = tools.json().await.expect("JSON");
    assert!(tools["tools"].as_array().is_some_and(|tools| tools.len() > 3), "{tools}");
    let code = tokio::task::spawn_blocking(move || serving.interrupt()).await.expect("no panic");
    assert_eq!(code, Some(0));
}
