//! Access control, and responses to invalid requests.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::kit::{Api, TOKEN, is_error, response};

#[tokio::test]
async fn requests_need_the_token_an_own_host_and_an_own_origin() {
    let api = Api::start().await;
    assert_eq!(api.request(Method::GET, "/healthz").send().await.expect("a response").status(), StatusCode::OK);
    for path in ["/mcp", "/openapi.json", "/mcp/events", "/nothing", "/healthz/", "/runs", "/runs/1/events", "/ui.js/"]
    {
        is_error(&response(api.request(Method::GET, path)).await, 401, "invalid-token");
        is_error(&response(api.request(Method::GET, path).bearer_auth("0123456789abcdeX")).await, 401, "invalid-token");
    }
    let asked = |name: &str, value: &str| api.request(Method::GET, "/mcp").bearer_auth(TOKEN).header(name, value);
    is_error(&response(asked("host", "evil.example")).await, 403, "host-not-allowed");
    is_error(&response(asked("origin", "https://evil.example")).await, 403, "origin-not-allowed");
    is_error(
        &response(api.request(Method::GET, "/healthz").header("host", "evil.example")).await,
        403,
        "host-not-allowed",
    );
    let rejected = api.request(Method::GET, "/mcp").send().await.expect("a response");
    assert!(rejected.headers()["www-authenticate"].to_str().is_ok_and(|value| value.starts_with("Bearer")));
    assert!(rejected.headers().get("access-control-allow-origin").is_none(), "no other site may read responses");
    assert_eq!(response(asked("origin", "http://localhost:3000")).await.0, StatusCode::OK);
}

#[tokio::test]
async fn invalid_requests_get_json_errors() {
    let api = Api::start().await;
    is_error(&api.get("/nothing").await, 404, "unknown-path");
    is_error(&api.send(Method::PUT, "/mcp", None).await, 405, "unknown-method");
    let sent = |kind: &str, body: String| {
        response(api.request(Method::POST, "/mcp").bearer_auth(TOKEN).header("content-type", kind).body(body))
    };
    // What a form of another site could send.
    is_error(&sent("text/plain", "{}".to_owned()).await, 415, "not-json");
    is_error(&sent("application/json", "{".to_owned()).await, 400, "invalid-body");
    is_error(&sent("application/json; charset=utf-8", "{}".to_owned()).await, 400, "invalid-body");
    is_error(&sent("application/json", format!("\"{}\"", "x".repeat(300_000))).await, 413, "too-large");
    let added = |config: Value| api.post("/mcp", Some(json!({ "name": "s", "config": config })));
    is_error(&added(json!({ "type": "stdio" })).await, 400, "invalid-config");
    is_error(&added(json!("http://h/")).await, 400, "invalid-body");
    for (config, line) in [
        (json!({ "type": "http", "url": "http://h/", "header": {} }), "unknown key `header`\n  config:6:7"),
        (json!({ "url": 5 }), "\n  config:4:14\n4 |       \"url\": "),
        (json!({ "command": "a", "url": "http://h/" }), "config:"),
        (json!({ "url": "http://h/", "headers": { "A": "${NOT_SET_ANYWHERE}" } }), "NOT_SET_ANYWHERE"),
        (json!({ "url": "http://h/", "permissions": { "deny": ["other/x"] } }), "other/x"),
    ] {
        let rejected = added(config).await;
        is_error(&rejected, 400, "invalid-config");
        assert!(rejected.1["error"]["message"].as_str().is_some_and(|text| text.contains(line)), "{}", rejected.1);
    }
    for name in ["", "a/b", "events"] {
        let body = json!({ "name": name, "config": { "url": "http://h/" } });
        is_error(&api.post("/mcp", Some(body)).await, 400, "invalid-config");
    }
    assert_eq!(api.get("/mcp").await.1, json!({}), "nothing was added");
}

#[tokio::test]
async fn the_description_matches_the_routes() {
    let api = Api::start().await;
    let (_, description) = api.get("/openapi.json").await;
    let paths = description["paths"].as_object().expect("paths");
    let mut described = Vec::new();
    for (path, operations) in paths {
        for (method, operation) in operations.as_object().expect("operations") {
            described.push(format!("{method} {path}"));
            assert!(operation["summary"].as_str().is_some_and(|words| !words.is_empty()), "{method} {path}");
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).expect("a method");
            if path.ends_with("/events") {
                continue;
            }
            let (status, body) = api
                .send(method.clone(), &path.replace("{name}", "none").replace("{id}", "none"), Some(json!({})))
                .await;
            assert_ne!(status, StatusCode::METHOD_NOT_ALLOWED, "{method} {path}");
            assert_ne!(body["error"]["kind"], "unknown-path", "{method} {path}");
        }
    }
    described.sort();
    assert_eq!(
        described,
        [
            "delete /mcp/{name}",
            "delete /mcp/{name}/auth",
            "get /events",
            "get /healthz",
            "get /mcp",
            "get /mcp/events",
            "get /mcp/{name}",
            "get /mcp/{name}/conversions",
            "get /mcp/{name}/tools",
            "get /prompts",
            "get /requests",
            "get /resources",
            "get /runs",
            "get /runs/{id}",
            "get /runs/{id}/comparison",
            "get /runs/{id}/events",
            "get /runs/{id}/report",
            "get /tools",
            "post /complete",
            "post /expand",
            "post /mcp",
            "post /mcp/{name}/auth",
            "post /mcp/{name}/auth/authenticate",
            "post /mcp/{name}/auth/callback",
            "post /mcp/{name}/connect",
            "post /mcp/{name}/disconnect",
            "post /requests/{id}",
            "post /resources/read",
            "post /runs",
            "post /runs/{id}/cancel",
            "post /tools/call",
        ]
    );
    assert_eq!(description["components"]["securitySchemes"]["token"]["scheme"], "bearer");
    assert_eq!(description["security"], json!([{ "token": [] }]));
    let text = description.to_string();
    // Every reference can be resolved.
    for reference in text.split("\"#/components/schemas/").skip(1) {
        let name = reference.split('"').next().expect("a name");
        assert!(description["components"]["schemas"].get(name).is_some(), "`{name}` is not described");
    }
}
