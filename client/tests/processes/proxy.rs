//! Proxies from the environment, which is fixed at the start of a process. The client therefore runs in a separate
//! one.

use std::{
    process::{Command, ExitCode, Stdio},
    sync::{Arc, Mutex},
};

use axum::{Json, Router, body::Body, extract::Request, response::Response};
use mcp_workbench_client::{CallOptions, Endpoint, HttpEndpoint, ServerConfig, connect};
use serde_json::{Value, json};

/// Calls a tool of the server at this URL, and prints the result.
pub(crate) fn call(url: &str) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let endpoint = HttpEndpoint { url: url.to_owned(), ..HttpEndpoint::default() };
        let connection = connect(ServerConfig::new("proxied", Endpoint::StreamableHttp(endpoint))).await.unwrap();
        let result = connection.call("any", json!({}), CallOptions::default()).await.unwrap();
        println!("{}", result.text());
        connection.close().await;
    });
    ExitCode::SUCCESS
}

async fn server(Json(message): Json<Value>) -> Json<Value> {
    let result = match message["method"].as_str().unwrap() {
        "server/discover" => json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
            "serverInfo": {"name": "behind", "version": "1"}, "ttlMs": 0, "cacheScope": "private",
        }),
        _ => json!({"content": [{"type": "text", "text": "from behind"}]}),
    };
    Json(json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
}

/// A proxy that forwards all requests to one server (RFC 9112, 3.2.2), and records their URLs.
async fn proxy(target: String) -> (String, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&asked);
    let client = test_support::http_client();
    let app = Router::new().fallback(move |request: Request| {
        let (log, client, target) = (Arc::clone(&log), client.clone(), target.clone());
        async move {
            let (parts, body) = request.into_parts();
            log.lock().unwrap().push(parts.uri.to_string());
            let body = axum::body::to_bytes(body, 1_000_000).await.unwrap();
            let url = format!("{target}{}", parts.uri.path());
            let answer = client.request(parts.method, url).headers(parts.headers).body(body).send().await.unwrap();
            let content_type = answer.headers()["content-type"].clone();
            let builder = Response::builder().status(answer.status()).header("content-type", content_type);
            builder.body(Body::from(answer.bytes().await.unwrap())).unwrap()
        }
    });
    (test_support::serve(app).await, asked)
}

/// The test.
pub(crate) async fn proxy_is_used() {
    let server = test_support::serve(Router::new().fallback(axum::routing::post(server))).await;
    let (proxy, asked) = proxy(server.clone()).await;
    let run = async |url: String, variables: &[(&str, &str)]| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg("proxied").arg(url).stdin(Stdio::null()).env_clear().envs(variables.iter().copied());
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        (String::from_utf8_lossy(&output.stdout).into_owned(), std::mem::take(&mut *asked.lock().unwrap()))
    };
    // The name cannot be resolved, so only the proxy can have reached the server.
    let url = "http://mcp.example.test/mcp";
    for variable in ["HTTP_PROXY", "http_proxy", "ALL_PROXY"] {
        let (said, asked) = run(url.into(), &[(variable, &proxy)]).await;
        assert_eq!(said, "from behind\n", "{variable}");
        assert!(asked.len() >= 2 && asked.iter().all(|asked| asked == url), "{variable}: {asked:?}");
    }
    let near = format!("{server}/mcp");
    let (said, asked) = run(near, &[("HTTP_PROXY", &proxy), ("NO_PROXY", "localhost,127.0.0.1")]).await;
    assert_eq!((said.as_str(), asked), ("from behind\n", vec![]));
}
