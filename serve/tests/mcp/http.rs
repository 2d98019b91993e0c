//! The MCP server over HTTP with access control.

use client::{CallOptions, Connection, Endpoint, HttpEndpoint, Revision, RevisionChoice, ServerConfig, connect};
use mcp_workbench_serve::{
    Limits,
    access::{AccessControl, AccessPolicy, Token, listen},
    mcp,
};
use reqwest::StatusCode;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::kit::{Bench, ERAS, bench, call, error, gone, pid, silent};

const TOKEN: &str = "0123456789abcdef";

async fn listening(bench: &Bench) -> (String, CancellationToken) {
    let token = Some(Token::parse(TOKEN).expect("a token"));
    let over = CancellationToken::new();
    let router = mcp::router(
        &bench.workbench,
        AccessControl::from(AccessPolicy { token, ..AccessPolicy::default() }),
        over.clone(),
    );
    let listener = listen("127.0.0.1:0".parse().expect("an address"), false).await.expect("a port");
    let url = format!("http://{}{}", listener.local_addr().expect("an address"), mcp::PATH);
    let stop = over.clone();
    tokio::spawn(async move { axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned()).await });
    (url, over)
}

async fn connected(url: &str, revision: Revision, token: Option<&str>) -> Result<Connection, client::ConnectError> {
    let headers = token.map(|token| ("Authorization".to_owned(), format!("Bearer {token}"))).into_iter().collect();
    let endpoint = HttpEndpoint { url: url.to_owned(), headers, ..HttpEndpoint::default() };
    let mut config = ServerConfig::new("workbench", Endpoint::StreamableHttp(endpoint));
    config.protocol = RevisionChoice::Pinned(revision);
    connect(config).await
}

pub(crate) async fn over_http_the_token_is_needed_in_both_eras() {
    let bench = bench(Limits::default());
    let (url, _over) = listening(&bench).await;
    for revision in ERAS {
        for token in [None, Some("0123456789abcdeX")] {
            let rejected = connected(&url, revision, token).await.expect_err("an error");
            assert_eq!(rejected.kind(), "needs-auth", "{rejected}");
        }
        let client = connected(&url, revision, Some(TOKEN)).await.expect("a connection");
        assert_eq!(client.revision(), revision);
        call(&client, "list_scenarios", json!({ "areas": ["server"] })).await;
        let rejected = call(&client, "validate_server", json!({ "server": {} })).await;
        assert_eq!(error(&rejected)["kind"], "invalid-arguments");
        client.close().await;
    }
}

pub(crate) async fn over_http_foreign_hosts_and_origins_are_rejected() {
    let bench = bench(Limits::default());
    let (url, _over) = listening(&bench).await;
    let http = client::http_client::builder().build().expect("a client");
    let send = async |name: &str, value: &str| {
        let request = http.post(&url).bearer_auth(TOKEN).header("accept", "application/json, text/event-stream");
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
        let response = request.header(name, value).json(&ping).send().await.expect("a response");
        (response.status(), response.text().await.expect("a body"))
    };
    for (name, value, kind) in
        [("host", "evil.example", "host-not-allowed"), ("origin", "https://evil.example", "origin-not-allowed")]
    {
        let (status, body) = send(name, value).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{body}");
        assert!(body.contains(kind), "{body}");
    }
    assert_ne!(send("origin", "http://localhost:3000").await.0, StatusCode::FORBIDDEN);
}

pub(crate) async fn over_http_a_cancelled_call_ends_its_run() {
    for revision in ERAS {
        let bench = bench(Limits::default());
        let (url, _over) = listening(&bench).await;
        let client = connected(&url, revision, Some(TOKEN)).await.expect("a connection");
        let (server, file) = silent(&bench);
        let cancel = CancellationToken::new();
        let options = CallOptions { cancel: cancel.clone(), ..CallOptions::default() };
        let called = client.call("validate_server", json!({ "server": server }), options);
        let ((), outcome) = tokio::join!(
            async {
                let pid = pid(&file).await;
                cancel.cancel();
                gone(&pid).await;
            },
            called
        );
        assert!(outcome.is_err(), "{revision}: {outcome:?}");
    }
}
