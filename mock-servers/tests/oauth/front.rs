//! An MCP mock behind a guard.

use mcp_workbench_mock_servers::{HttpMock, Recorder, Script, SseMock, listen::Options};
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

async fn protected_stream(peer: &Peer) -> SseMock {
    let script: Script = serde_saphyr::from_str("tools: [{ name: hello }]\n").unwrap();
    let recorder = Recorder::disabled();
    SseMock::start_protected(script, "2024-11-05", 1, recorder, Options::default(), &peer.mock).await.unwrap()
}

#[tokio::test]
async fn a_stream_of_the_old_kind_and_what_is_posted_to_it_need_a_token() {
    let peer = Peer::new("resource: { step_up: [{ tool: hello, scopes: write }] }\n").await;
    let mock = protected_stream(&peer).await;
    let url = mock.url();
    let refused = read(peer.http.get(&url)).await;
    assert_eq!(refused.status, 401);
    let metadata_url = refused.header("www-authenticate").split('"').nth(1).unwrap().to_owned();
    assert_eq!(metadata_url, url.replace("/sse", "/.well-known/oauth-protected-resource/sse"));
    assert_eq!(read(peer.http.get(&metadata_url)).await.json()["resource"], json!(url));
    let client = peer.public_client().await;
    let tokens = peer.tokens(&client, &[("resource", &url), ("scope", "read")]).await;
    let token = &tokens["access_token"];
    let mut stream = with(peer.http.get(&url), Some(token)).send().await.unwrap();
    assert_eq!(stream.status(), 200);
    let mut heard = String::new();
    while !heard.contains("\n\n") {
        heard.push_str(std::str::from_utf8(&stream.chunk().await.unwrap().unwrap()).unwrap());
    }
    let path = heard.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
    let endpoint = url.replace("/sse", path);
    let post = |message: Value, token| with(peer.http.post(&endpoint).json(&message), token);
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2024-11-05"}});
    assert_eq!(read(post(hello.clone(), None)).await.status, 401);
    assert_eq!(read(post(hello, Some(token))).await.status, 202);
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "hello"}});
    let refused = read(post(call.clone(), Some(token))).await;
    assert_eq!(refused.status, 403);
    let header = refused.header("www-authenticate");
    assert!(header.contains("insufficient_scope") && header.contains("scope=\"write\""), "{header}");
    let more = peer.tokens(&client, &[("resource", &url), ("scope", "read write")]).await;
    assert_eq!(read(post(call, Some(&more["access_token"]))).await.status, 202);
    heard.clear();
    while !heard.contains("\"id\":2") {
        heard.push_str(std::str::from_utf8(&stream.chunk().await.unwrap().unwrap()).unwrap());
    }
    assert!(!heard.contains("\"error\""), "{heard}");
    let foreign = peer.tokens(&client, &[("resource", peer.mock.protected())]).await;
    // Its body is not read: where the token is let through, that is a stream without an end.
    let refused = with(peer.http.get(&url), Some(&foreign["access_token"])).send().await.unwrap();
    assert_eq!(refused.status(), 401);
}
