//! Login against a mock authorization server.

use mock_servers::oauth::{OAuthMock, OAuthOptions, script};
use reqwest::{Method, StatusCode, redirect::Policy};
use serde_json::{Value, json};
use url::Url;

use client::auth::store::CredentialStore as _;

use crate::kit::{Api, TestBrowser, is_error};

async fn oauth(script: &str) -> OAuthMock {
    let script = script::parse(script, "login.json").expect("a valid script");
    OAuthMock::start(script, OAuthOptions::default().with_seed(1)).await.expect("it starts")
}

async fn guarded(api: &Api) -> OAuthMock {
    let mock = oauth("{}").await;
    let config = json!({ "type": "http", "url": mock.protected() });
    let (status, all) = api.post("/mcp", Some(json!({ "name": "guarded", "config": config }))).await;
    assert_eq!((status, &all["guarded"]["status"]), (StatusCode::OK, &json!("needs_auth")), "{all}");
    assert!(all["guarded"]["help"].as_str().is_some_and(|help| help.starts_with("log in with `POST")), "{all}");
    mock
}

/// The redirect URL of the authorization server, which is not followed.
async fn redirect(page: &str) -> Url {
    let http = client::http_client::builder().redirect(Policy::none()).build().expect("a client");
    let response = http.get(page).send().await.expect("a response");
    response.headers()["location"].to_str().expect("text").parse().expect("a URL")
}

fn parameter(url: &Url, name: &str) -> String {
    url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned()).unwrap_or_default()
}

async fn start_login(api: &Api) -> String {
    let (status, begun) = api.post("/mcp/guarded/auth", None).await;
    assert_eq!(status, StatusCode::OK, "{begun}");
    begun["authorizationUrl"].as_str().expect("a URL").to_owned()
}

async fn stored(api: &Api) -> usize {
    api.store.list().await.expect("a list").keys.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_can_be_posted_and_the_login_removed() {
    let api = Api::start().await;
    let mock = guarded(&api).await;
    is_error(&api.post("/mcp/guarded/auth/callback", Some(json!({ "code": "x" }))).await, 409, "no-login");
    is_error(&api.post("/mcp/guarded/connect", None).await, 502, "login-required");
    let page = start_login(&api).await;
    let back = redirect(&page).await;
    let (code, state, iss) = (parameter(&back, "code"), parameter(&back, "state"), parameter(&back, "iss"));
    let post_callback = |body: Value| api.post("/mcp/guarded/auth/callback", Some(body));
    is_error(&post_callback(json!({ "code": code, "state": "another", "iss": iss })).await, 400, "callback-rejected");
    is_error(&post_callback(json!({ "url": "https://elsewhere.example/?code=x" })).await, 400, "callback-rejected");
    is_error(&post_callback(json!({})).await, 400, "invalid-body");
    is_error(&post_callback(json!({ "code": code, "url": back.as_str() })).await, 400, "invalid-body");
    // None of these has ended the login.
    let done = post_callback(json!({ "code": code, "state": state, "iss": iss })).await;
    assert_eq!(done, (StatusCode::OK, json!({ "status": "connected" })));
    assert_eq!(stored(&api).await, 1);
    // The failed read before the login no longer counts.
    let (_, all) = api.get("/tools").await;
    assert!(all["missing"] == json!({}) && all["tools"].as_array().is_some_and(|tools| !tools.is_empty()), "{all}");
    assert!(api.get("/mcp/guarded/tools").await.1["tools"].as_array().is_some_and(|tools| !tools.is_empty()));
    // A validation uses the login.
    let options = json!({ "server": "guarded", "only": ["server/handshake"], "revisions": ["2025-11-25"] });
    assert_eq!(api.post("/runs", Some(options)).await.0, StatusCode::ACCEPTED);
    let run = crate::runs::end(&api, "1").await;
    assert_eq!((&run["status"], &run["passed"]), (&json!("finished"), &json!(true)), "{run}");
    for text in [api.get("/mcp").await.1.to_string(), done.1.to_string()] {
        assert!(!text.contains(&code), "{text}");
    }

    let (status, gone) = api.send(Method::DELETE, "/mcp/guarded/auth", None).await;
    assert_eq!((status, &gone["success"], &gone["removed"]), (StatusCode::OK, &json!(true), &json!(true)), "{gone}");
    assert_eq!(stored(&api).await, 0);
    is_error(&api.post("/mcp/guarded/connect", None).await, 502, "login-required");
    assert_eq!(api.get("/mcp").await.1["guarded"]["status"], "needs_auth");
    api.management.close().await;
    mock.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_redirect_url_can_be_posted_and_the_authorization_server_rejects_a_wrong_code() {
    let api = Api::start().await;
    let mock = guarded(&api).await;
    let back = redirect(&start_login(&api).await).await;
    let wrong = json!({ "code": "wrong", "iss": parameter(&back, "iss") });
    let refused = api.post("/mcp/guarded/auth/callback", Some(wrong)).await;
    assert_eq!(refused.0, StatusCode::BAD_GATEWAY, "{}", refused.1);
    assert!(
        refused.1["error"]["message"].as_str().is_some_and(|words| words.contains("invalid_grant")),
        "{}",
        refused.1
    );
    assert_eq!(stored(&api).await, 0);
    let back = redirect(&start_login(&api).await).await;
    let done = api.post("/mcp/guarded/auth/callback", Some(json!({ "url": back.as_str() }))).await;
    assert_eq!(done, (StatusCode::OK, json!({ "status": "connected" })));
    api.management.close().await;
    mock.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_of_the_browser_completes_the_login() {
    let api = Api::start().await;
    let mock = guarded(&api).await;
    let page = start_login(&api).await;
    assert_eq!(reqwest::get(page).await.expect("it comes back").status(), StatusCode::OK);
    // Whoever asks what became of it waits for its end.
    for _ in 0..500 {
        if api.get("/mcp").await.1["guarded"]["status"] == "connected" {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_eq!(api.get("/mcp").await.1, json!({ "guarded": { "status": "connected" } }));
    api.management.close().await;
    mock.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_can_use_a_browser_of_this_machine() {
    let api = Api::start().await;
    let mock = guarded(&api).await;
    let done = api.post("/mcp/guarded/auth/authenticate", None).await;
    assert_eq!(done, (StatusCode::OK, json!({ "status": "connected" })));
    assert_eq!(api.browser.pages.lock().expect("no panic before").len(), 1);
    api.management.close().await;
    mock.stop().await;

    let api = Api::with(TestBrowser { broken: true, ..TestBrowser::default() }).await;
    let mock = guarded(&api).await;
    is_error(&api.post("/mcp/guarded/auth/authenticate", None).await, 502, "no-browser");
    mock.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_login_stops_the_previous_one() {
    let api = Api::start().await;
    let mock = guarded(&api).await;
    let first = start_login(&api).await;
    let second = start_login(&api).await;
    assert_ne!(first, second);
    let (of_first, of_second) = (redirect(&first).await, redirect(&second).await);
    let refused = api.post("/mcp/guarded/auth/callback", Some(json!({ "url": of_first.as_str() }))).await;
    is_error(&refused, 400, "callback-rejected");
    let done = api.post("/mcp/guarded/auth/callback", Some(json!({ "url": of_second.as_str() }))).await;
    assert_eq!(done, (StatusCode::OK, json!({ "status": "connected" })));
    api.management.close().await;
    mock.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_needs_a_registered_client_says_so_and_takes_one() {
    let api = Api::start().await;
    let mock = oauth(
        r#"{"registration": {"enabled": false, "advertised": false},
            "clients": [{"id": "known", "redirect_uris": ["http://127.0.0.1/callback"]}]}"#,
    )
    .await;
    let add = |config: Value| api.post("/mcp", Some(json!({ "name": "guarded", "config": config })));
    let (_, all) = add(json!({ "url": mock.protected() })).await;
    assert_eq!(all["guarded"]["status"], "needs_client_registration", "{all}");
    assert!(all["guarded"]["help"].as_str().is_some_and(|help| help.contains("clientId")), "{all}");
    for path in ["/mcp/guarded/connect", "/mcp/guarded/auth"] {
        let rejected = api.post(path, None).await;
        is_error(&rejected, 502, "client-registration-required");
        assert!(rejected.1["error"]["help"].as_str().is_some_and(|help| help.contains("clientId")), "{}", rejected.1);
    }
    let (_, all) = add(json!({ "url": mock.protected(), "oauth": { "clientId": "known" } })).await;
    assert_eq!(all["guarded"]["status"], "needs_auth", "{all}");
    let back = redirect(&start_login(&api).await).await;
    let done = api.post("/mcp/guarded/auth/callback", Some(json!({ "url": back.as_str() }))).await;
    assert_eq!(done, (StatusCode::OK, json!({ "status": "connected" })));
    api.management.close().await;
    mock.stop().await;
}
