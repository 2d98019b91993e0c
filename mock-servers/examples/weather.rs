//! A small test of an agent: a mock server with a tool that fails once, and the expected calls.
//!
//! `cargo run -p mcp-workbench-mock-servers --example weather`

use mcp_workbench_mock_servers::{
    MockServer,
    mock::{Expect, error, text},
    script::{Tool, When},
};
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = MockServer::builder()
        .tool(Tool::new("weather").described("The weather in a city.").replies(text("rain in {{arguments.city}}")))
        .on(When::call("weather").nth(1).then(error(-32000, "the station does not answer")))
        .start()
        .await?;
    server.expect(Expect::call("weather").with_arguments(json!({"city": "Bern"})).times(2));
    let answer = ask_twice(&server.url()).await?;
    assert_eq!(answer["result"]["content"][0]["text"], "rain in Bern");
    server.verify()?;
    server.stop().await;
    Ok(())
}

/// The agent under test: it asks again when a call fails.
async fn ask_twice(url: &str) -> Result<Value, reqwest::Error> {
    let params =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "agent", "version": "1"}});
    let answer = post(url, None, &json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})).await?;
    let session = answer.headers().get("mcp-session-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
    let call = json!({"name": "weather", "arguments": {"city": "Bern"}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call});
    let first: Value = post(url, session.as_deref(), &call).await?.json().await?;
    if first.get("error").is_none() {
        return Ok(first);
    }
    post(url, session.as_deref(), &call).await?.json().await
}

async fn post(url: &str, session: Option<&str>, message: &Value) -> Result<reqwest::Response, reqwest::Error> {
    let request = test_support::http_client().post(url).header("accept", "application/json, text/event-stream");
    let request = match session {
        Some(session) => request.header("mcp-session-id", session),
        None => request,
    };
    request.json(message).send().await
}
