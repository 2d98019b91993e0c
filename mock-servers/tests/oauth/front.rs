//! An MCP mock behind a guard.

use mcp_workbench_mock_servers::{HttpMock, Recorder, Script, listen::Options};
use reqwest::RequestBuilder;
use serde_json::{Value, json};

use crate::peer::{Peer, Read, read};

async fn protected(peer: &Peer) -> HttpMock {
    let script: Script = serde_saphyr::from_str("tools: [{ name: hello }]\n").unwrap();
    let recorder = Recorder::disabled();
    HttpMock::start_protected(script, "2025-11-25", 1, recorder, Options::default(), &peer.mock).await.unwrap()
}

async fn initialize(peer: &Peer, url: &str, token: Option<&Value>) -> Read {
    let params =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let accept = "application/json, text/event-stream";
    read(with(peer.http.post(url).json(&body).header("accept", accept), token)).await
}

fn with(request: RequestBuilder, token: Option<&Value>) -> RequestBuilder {
    match token {
        Some(token) => request.header("authorization", format!("Bearer {}", token.as_str().unwrap())),
        None => request,
    }
}

#[tokio::test]
async fn a_mock_behind_a_guard_opens_to_tokens_that_are_meant_for_it() {
    let peer = Peer::new("{}").await;
    let mock = protected(&peer).await;
    let client = peer.public_client().await;
    let refused = initialize(&peer, &mock.url(), None).await;
    assert_eq!(refused.status, 401);
    let metadata_url = refused.header("www-authenticate").split('"').nth(1).unwrap().to_owned();
    let metadata = read(peer.http.get(&metadata_url)).await.json();
    assert_eq!(
        (&metadata["resource"], &metadata["authorization_servers"]),
        (&json!(mock.url()), &json!([peer.mock.issuer()]))
    );
    let url = mock.url();
    let tokens = peer.tokens(&client, &[("resource", &url)]).await;
    let answer = initialize(&peer, &url, Some(&tokens["access_token"])).await;
    assert_eq!(answer.json()["result"]["protocolVersion"], "2025-11-25");
    let resource = peer.mock.protected().to_owned();
    let foreign = peer.tokens(&client, &[("resource", &resource)]).await;
    assert_eq!(initialize(&peer, &url, Some(&foreign["access_token"])).await.status, 401);
}

#[tokio::test]
async fn streams_and_the_ends_of_sessions_need_a_token_as_well() {
    let peer = Peer::new("{}").await;
    let mock = protected(&peer).await;
    let url = mock.url();
    let client = peer.public_client().await;
    let tokens = peer.tokens(&client, &[("resource", &url)]).await;
    let token = &tokens["access_token"];
    let session = initialize(&peer, &url, Some(token)).await.header("mcp-session-id").to_owned();
    for (token, expected) in [(None, 401), (Some(token), 200)] {
        let request = peer.http.delete(&url).header("mcp-session-id", &session);
        let status = read(with(request, token)).await.status;
        assert!(status == expected || (expected == 200 && (200..300).contains(&status)), "{status}");
    }
    assert_eq!(peer.http.get(&url).header("accept", "text/event-stream").send().await.unwrap().status(), 401);
    assert_eq!(read(peer.http.get(format!("{}/nowhere", url))).await.status, 404);
}
