//! What the host adds: configured servers, rules, calls, prompts, resources and events.

use futures::StreamExt as _;
use mock_servers::{MockServer, script::Script};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::kit::{Api, TOKEN, is_error};

async fn mock() -> MockServer {
    let script = json!({
        "extends": "everything",
        "tools": [
            { "name": "echo", "input_schema": { "type": "object" }, "reply": { "text": "{{arguments.text}}" } },
            { "name": "fails", "reply": { "text": "no", "is_error": true } },
        ],
    });
    MockServer::start(serde_json::from_value::<Script>(script).expect("a script")).await.expect("it starts")
}

fn calls(mock: &MockServer) -> usize {
    mock.received().iter().filter(|message| message.method() == Some("tools/call")).count()
}

async fn call(api: &Api, name: &str, more: Value) -> (StatusCode, Value) {
    let mut body = json!({ "name": name, "arguments": { "text": "hello" } });
    body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    api.post("/tools/call", Some(body)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn configured_servers_and_rules_apply_and_a_denied_call_is_not_sent() {
    let mock = mock().await;
    let api = Api::configured(&format!(
        "permissions = {{ deny = [\"*/fails\"] }}\n[mcp_servers.mock]\nurl = {:?}\npermissions = {{ ask = [\"echo\"] }}\n\
         [mcp_servers.off]\nurl = \"http://127.0.0.1:1/\"\nenabled = false\n[mcp_servers.wrong]\nurl = 5\n",
        mock.url()
    ))
    .await;
    let (_, all) = api.get("/tools").await;
    let names: Vec<_> = all["tools"].as_array().expect("tools").iter().map(|tool| &tool["name"]).collect();
    assert!(names.contains(&&json!("mcp__mock__echo")), "{all}");
    assert!(all["definitions"].to_string().contains("mcp__mock__echo"), "{all}");
    let (_, servers) = api.get("/mcp").await;
    let status = |name: &str| servers[name]["status"].as_str().unwrap_or_default().to_owned();
    assert_eq!([status("mock"), status("off"), status("wrong")], ["connected", "disabled", "excluded"], "{servers}");
    is_error(&api.post("/mcp/wrong/connect", None).await, 400, "invalid-config");

    let denied = call(&api, "mcp__mock__fails", json!({ "approve": true })).await;
    is_error(&denied, 403, "denied");
    assert!(denied.1["error"]["message"].as_str().is_some_and(|text| text.contains("`*/fails`")), "{}", denied.1);
    let asks = call(&api, "mcp__mock__echo", json!({})).await;
    is_error(&asks, 403, "denied");
    assert!(asks.1["error"]["help"].as_str().is_some_and(|help| help.contains("`approve: true`")), "{}", asks.1);
    is_error(&call(&api, "mcp__mock__ech", json!({})).await, 404, "unknown-tool");
    is_error(&call(&api, "mcp__mock__echo", json!({ "aprove": true })).await, 400, "invalid-body");
    assert_eq!(calls(&mock), 0);

    let (status, called) = call(&api, "mcp__mock__echo", json!({ "approve": true })).await;
    assert_eq!((status, &called["result"]["content"][0]["text"]), (StatusCode::OK, &json!("hello")), "{called}");
    assert_eq!((&called["isError"], &called["content"][0]["text"], calls(&mock)), (&json!(false), &json!("hello"), 1));
    api.management.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_added_entry_has_rules_filters_variables_and_no_token() {
    let api = Api::start().await;
    let mock = mock().await;
    let config = json!({
        "url": mock.url(), "headers": { "X-Key": "${SECRET_OF_TESTS}" }, "disabledTools": ["fails"],
        "permissions": { "deny": ["test_simple_text"] }, "timeout": 5000,
    });
    let (_, all) = api.post("/mcp", Some(json!({ "name": "mock", "config": config }))).await;
    assert_eq!(all["mock"]["status"], "connected", "{all}");
    is_error(&call(&api, "mcp__mock__fails", json!({})).await, 404, "unknown-tool");
    is_error(&call(&api, "mcp__mock__test_simple_text", json!({})).await, 403, "denied");
    assert_eq!(calls(&mock), 0);
    // No rule decides: the request is the approval.
    assert_eq!(call(&api, "mcp__mock__echo", json!({})).await.0, StatusCode::OK);
    let (_, shown) = api.get("/mcp/mock").await;
    assert_eq!(
        (&shown["config"]["headers"], &shown["config"]["scope"]),
        (&json!(["X-Key"]), &json!("given")),
        "{shown}"
    );
    assert!(!shown.to_string().contains("s3cr3t-of-a-variable"), "{shown}");
    // The token of the API does not reach a server.
    let stolen = json!({ "url": mock.url(), "headers": { "X": "${MCP_WORKBENCH_SERVE_TOKEN}" } });
    is_error(&api.post("/mcp", Some(json!({ "name": "thief", "config": stolen }))).await, 400, "invalid-config");
    // Rules end with their server.
    assert_eq!(api.send(Method::DELETE, "/mcp/mock", None).await.1, json!({}));
    is_error(&call(&api, "mcp__mock__echo", json!({})).await, 404, "unknown-tool");
    is_error(&api.get("/mcp/mock").await, 404, "unknown-server");
    api.management.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn prompts_and_resources_are_listed_expanded_and_read() {
    let mock = mock().await;
    let api = Api::configured(&format!("[mcp_servers.mock]\nurl = {:?}\n", mock.url())).await;
    let (_, prompts) = api.get("/prompts").await;
    assert_eq!(prompts["prompts"]["/mcp__mock__test_simple_prompt"]["server"], "mock", "{prompts}");
    let expanded = |text: &str| api.post("/expand", Some(json!({ "text": text })));
    let (_, run) = expanded("/mcp__mock__test_prompt_with_arguments a \"b c\"").await;
    assert!(run["messages"].to_string().contains("arg1='a', arg2='b c'"), "{run}");
    is_error(&expanded("/mcp__mock__none").await, 400, "invalid-command");
    let (_, mentioned) = expanded("Read @mock:test://static-text").await;
    assert_eq!(mentioned["mentions"][0]["uri"], "test://static-text", "{mentioned}");
    let (_, completed) = api.post("/complete", Some(json!({ "text": "Read @mock:test://static-t" }))).await;
    assert_eq!(completed, json!({ "completions": ["@mock:test://static-text"] }));
    let (_, resources) = api.get("/resources").await;
    assert!(resources["servers"]["mock"]["resources"].to_string().contains("test://static-text"), "{resources}");
    let read = |server: &str, uri: &str| api.post("/resources/read", Some(json!({ "server": server, "uri": uri })));
    let (_, contents) = read("mock", "test://static-text").await;
    assert_eq!(contents["contents"][0]["uri"], "test://static-text", "{contents}");
    is_error(&read("none", "test://static-text").await, 404, "unknown-server");
    assert_eq!(read("mock", "test://none").await.0, StatusCode::BAD_GATEWAY);
    api.management.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_and_denials_are_events() {
    let mock = mock().await;
    let api = Api::configured(&format!(
        "permissions = {{ deny = [\"*/fails\"] }}\n[mcp_servers.mock]\nurl = {:?}\n",
        mock.url()
    ))
    .await;
    let events = api.request(Method::GET, "/events").bearer_auth(TOKEN).send().await.expect("a stream");
    call(&api, "mcp__mock__fails", json!({})).await;
    call(&api, "mcp__mock__echo", json!({})).await;
    let mut stream = events.bytes_stream();
    let (mut text, mut found) = (String::new(), Vec::new());
    let received = async {
        while found.len() < 2 {
            text.push_str(&String::from_utf8_lossy(&stream.next().await.expect("an event").expect("bytes")));
            let calls = text.split("\n\n").filter_map(|event| event.strip_prefix("event: call\ndata: "));
            found = calls.filter_map(|data| serde_json::from_str::<Value>(data).ok()).collect();
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), received).await.expect("two events");
    assert!(text.starts_with("event: status\ndata: {\"server\":\"mock\""), "{text}");
    let outcomes: Vec<_> = found.iter().map(|call| (&call["name"], &call["outcome"])).collect();
    let expected = [("mcp__mock__fails", "denied"), ("mcp__mock__echo", "ok")].map(|(a, b)| (json!(a), json!(b)));
    assert_eq!(outcomes, expected.iter().map(|(a, b)| (a, b)).collect::<Vec<_>>(), "{text}");
    api.management.close().await;
}
