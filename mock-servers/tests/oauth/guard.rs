//! The resource: what it asks for, how it says so, and for whom it opens.

use http::{HeaderMap, HeaderValue, Method, Uri};
use mcp_workbench_mock_servers::oauth::{AuditEvent, AuthScript, Guard, OAuthMock, OAuthOptions, SigningKey};
use serde_json::{Value, json};

use crate::peer::{Peer, claims, script};

#[tokio::test]
async fn the_first_challenge_says_where_to_begin_and_what_to_ask_for() {
    let peer = Peer::new("resource: { required_scopes: [read, list] }\n").await;
    let answer = peer.list(None).await;
    assert_eq!(answer.status, 401);
    let metadata = peer.at("/.well-known/oauth-protected-resource/mcp");
    assert_eq!(
        answer.header("www-authenticate"),
        format!("Bearer scope=\"read list\", resource_metadata=\"{metadata}\"")
    );
    let AuditEvent::Accessed(accessed) = peer.last().event else { panic!("{:?}", peer.last()) };
    assert_eq!((accessed.status, accessed.reason.as_deref(), accessed.scheme), (401, Some("no-token"), None));
    assert_eq!(accessed.rpc_method.as_deref(), Some("tools/list"));
}

#[tokio::test]
async fn the_challenge_leaves_out_what_the_script_wants_left_out() {
    for (text, expected) in [
        ("resource: { challenge_with_metadata: false, required_scopes: [read] }\n", "Bearer scope=\"read\""),
        ("discovery: { protected_resource: false }\n", "Bearer"),
        (
            "resource: { challenge_with_metadata: false, challenge_scopes: [other], required_scopes: [read] }\n",
            "Bearer scope=\"other\"",
        ),
        (
            "resource: { challenge_with_metadata: false, challenge_with_scope: false, required_scopes: [read] }\n",
            "Bearer",
        ),
        (
            "resource: { lower_case_scheme: true, required_scopes: [Read] }\ndiscovery: { protected_resource: false }\n",
            "bearer scope=\"Read\"",
        ),
        (
            "resource: { lower_case_scheme: true, other_challenges: [Basic] }\ndiscovery: { protected_resource: false }\n",
            "Basic, bearer",
        ),
    ] {
        assert_eq!(Peer::new(text).await.list(None).await.header("www-authenticate"), expected, "{text}");
    }
}

#[tokio::test]
async fn some_methods_are_open_to_everybody() {
    let peer = Peer::new("resource: { open_methods: [initialize, 'pi*'] }\n").await;
    assert_eq!(peer.call("initialize", None).await.status, 200);
    assert_eq!(peer.call("ping", None).await.status, 200);
    assert_eq!(peer.call("tools/list", None).await.status, 401);
}

#[tokio::test]
async fn tokens_of_others_and_tokens_in_the_wrong_place_are_refused() {
    let peer = Peer::new("{}").await;
    let client = peer.public_client().await;
    let token = peer.tokens(&client, &[]).await["access_token"].as_str().unwrap().to_owned();
    let other = Peer::with(AuthScript::default(), 8).await;
    let stranger = other.public_client().await;
    let resource = peer.mock.protected().to_owned();
    let foreign = other.tokens(&stranger, &[("resource", &resource)]).await;
    for (header, reason) in [
        ("Bearer nonsense".to_owned(), "not-ours"),
        (format!("Bearer {}", foreign["access_token"].as_str().unwrap()), "not-ours"),
        (format!("Bearer {}x", token), "not-ours"),
        (format!("DPoP {token}"), "scheme"),
        (format!("Basic {token}"), "scheme"),
        ("Bearer".to_owned(), "not-ours"),
    ] {
        assert_eq!(peer.list(Some(&header)).await.status, 401, "{reason}");
        let AuditEvent::Accessed(accessed) = peer.last().event else { panic!("{:?}", peer.last()) };
        assert_eq!(accessed.reason.as_deref(), Some(reason));
    }
    assert_eq!(peer.list(Some(&format!("bearer {token}"))).await.status, 200);
    let bearer = format!("Bearer {token}");
    let twice = peer.http.post(peer.mock.protected()).json(&json!({"method": "ping", "id": 1}));
    let twice = crate::peer::read(twice.header("authorization", &bearer).header("authorization", &bearer)).await;
    assert_eq!(twice.error(), (400, "invalid_request".to_owned()), "which of them would count?");
    let url = format!("{}?access_token={token}", peer.mock.protected());
    let answer = crate::peer::read(peer.http.post(url).json(&json!({"method": "ping", "id": 1}))).await;
    assert_eq!(answer.status, 400);
    assert!(matches!(peer.last().event, AuditEvent::Accessed(seen) if seen.token_in_query));
}

#[tokio::test]
async fn what_the_server_signs_for_other_ends_is_no_access_token() {
    let peer = Peer::new("{}").await;
    let client = peer.public_client().await;
    let issued = claims(&peer.tokens(&client, &[]).await["access_token"]);
    // The key of the peer's server, which follows from its seed.
    let key = SigningKey::seeded(7, "authorization server");
    let with = |name: &str, value: Value| {
        let mut claims = issued.clone();
        claims[name] = value;
        claims
    };
    let again = peer.list_with(&json!(key.sign("at+jwt", &issued))).await;
    assert_eq!(again.status, 200, "only what is wrong below makes the difference: {again:?}");
    for token in [
        key.sign("JWT", &issued),
        key.sign_with(&json!({"alg": "ES256"}), &issued),
        key.sign("at+jwt", &with("iss", json!("https://another.example"))),
        key.sign("at+jwt", &with("iss", Value::Null)),
    ] {
        let refused = peer.list_with(&json!(token)).await;
        assert_eq!(refused.status, 401, "{token}");
        assert!(refused.header("www-authenticate").contains("error=\"invalid_token\""), "{refused:?}");
        let AuditEvent::Accessed(accessed) = peer.last().event else { panic!("{:?}", peer.last()) };
        assert_eq!(accessed.reason.as_deref(), Some("not-ours"));
    }
}

const STEP_UP: &str = "resource:\n  required_scopes: [basic]\n  step_up:\n    - { method: tools/call, tool: test-tool, scopes: write, insists: 1 }\n";

#[tokio::test]
async fn certain_requests_need_more_scopes_and_the_resource_may_insist() {
    let peer = Peer::new(STEP_UP).await;
    let client = peer.public_client().await;
    let bearer = async |scope: &str| {
        let tokens = peer.tokens(&client, &[("scope", scope)]).await;
        format!("Bearer {}", tokens["access_token"].as_str().unwrap())
    };
    let basic = bearer("basic").await;
    assert_eq!(peer.call("tools/list", Some(&basic)).await.status, 200);
    let refused = peer.call("tools/call", Some(&basic)).await;
    assert_eq!(refused.status, 403);
    let header = refused.header("www-authenticate");
    assert!(header.starts_with("Bearer error=\"insufficient_scope\""), "{header}");
    assert!(header.contains("scope=\"basic write\"") && header.contains("resource_metadata="), "{header}");
    let both = bearer("basic write").await;
    assert_eq!(peer.call("tools/call", Some(&both)).await.status, 403);
    assert!(matches!(peer.last().event, AuditEvent::Accessed(seen) if seen.reason.as_deref() == Some("insists")));
    assert_eq!(peer.call("tools/call", Some(&both)).await.status, 200);
    let write = bearer("write").await;
    assert_eq!(peer.call("tools/list", Some(&write)).await.status, 403);
}

#[tokio::test]
async fn a_resource_may_ask_for_more_for_ever_and_counts_how_often_a_client_tries() {
    let step_up = "resource: { step_up: [{ method: tools/call, scopes: admin, always_insists: true }] }\n";
    let peer = Peer::new(step_up).await;
    let client = peer.public_client().await;
    for (attempt, scope) in (1..).zip(["", "admin", "admin", "admin", "admin"]) {
        let tokens = peer.tokens(&client, &[("scope", scope)]).await;
        let refused =
            peer.call("tools/call", Some(&format!("Bearer {}", tokens["access_token"].as_str().unwrap()))).await;
        assert_eq!(refused.error(), (403, "insufficient_scope".to_owned()), "{attempt}");
        assert!(refused.header("www-authenticate").contains("scope=\"admin\""), "{refused:?}");
        let AuditEvent::Accessed(seen) = peer.last().event else { panic!("{:?}", peer.last()) };
        let reason = if scope.is_empty() { "insufficient-scope" } else { "insists" };
        assert_eq!((seen.attempt, seen.reason.as_deref()), (Some(attempt), Some(reason)));
    }
    assert_eq!(peer.call("tools/call", None).await.status, 401);
    let AuditEvent::Accessed(seen) = peer.last().event else { panic!("{:?}", peer.last()) };
    assert_eq!(seen.attempt, None, "who shows no token asks for nothing more");
    let authorized = peer.events().into_iter().filter(|event| matches!(event, AuditEvent::Authorized(_))).count();
    assert_eq!(authorized, 5, "this is what a check counts");
}

#[tokio::test]
async fn a_challenge_may_name_the_missing_scopes_only() {
    let peer =
        Peer::new(&format!("{}  challenge_missing_only: true\n", STEP_UP.replace("insists: 1", "insists: 0"))).await;
    let client = peer.public_client().await;
    let tokens = peer.tokens(&client, &[("scope", "basic")]).await;
    let bearer = format!("Bearer {}", tokens["access_token"].as_str().unwrap());
    let refused = peer.call("tools/call", Some(&bearer)).await;
    assert!(refused.header("www-authenticate").contains(" scope=\"write\""), "{refused:?}");
}

fn check(guard: &Guard, token: Option<&Value>, body: &Value) -> Result<Option<String>, u16> {
    let mut headers = HeaderMap::new();
    if let Some(token) = token {
        let value = format!("Bearer {}", token.as_str().unwrap());
        headers.insert("authorization", HeaderValue::from_str(&value).unwrap());
    }
    let granted = guard.check(&Method::POST, &Uri::from_static("/mcp"), &headers, Some(body));
    granted.map(|granted| granted.client).map_err(|challenge| challenge.status)
}

#[tokio::test]
async fn a_guard_of_another_resource_has_its_own_audience_and_metadata() {
    let peer = Peer::new("{}").await;
    let guard = peer.mock.guard("http://127.0.0.1:9/api/mcp");
    let client = peer.public_client().await;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let own = peer.tokens(&client, &[("resource", guard.resource())]).await;
    assert_eq!(check(&guard, Some(&own["access_token"]), &body), Ok(Some(client.clone())));
    let by_default = peer.tokens(&client, &[]).await;
    assert_eq!(check(&guard, Some(&by_default["access_token"]), &body), Ok(Some(client.clone())));
    let resource = peer.mock.protected().to_owned();
    let other = peer.tokens(&client, &[("resource", &resource)]).await;
    assert_eq!(check(&guard, Some(&other["access_token"]), &body), Err(401));
    assert_eq!(check(&guard, None, &json!([body])), Err(401));
    let metadata = guard.metadata_route("/.well-known/oauth-protected-resource/api/mcp").await.unwrap();
    assert_eq!(
        (metadata.status().as_u16(), metadata.headers()["content-type"].to_str().unwrap()),
        (200, "application/json")
    );
    assert!(guard.metadata_route("/.well-known/oauth-protected-resource/mcp").await.is_none());
}

#[tokio::test]
async fn a_slash_at_the_end_of_an_audience_matters_only_if_the_script_says_so() {
    for (text, expected) in [("{}", true), ("resource: { lenient_audience: false }", false)] {
        let peer = Peer::new(text).await;
        let client = peer.public_client().await;
        let slashed = format!("{}/", peer.mock.protected());
        let tokens = peer.tokens(&client, &[("resource", &slashed)]).await;
        assert_eq!(peer.list_with(&tokens["access_token"]).await.status == 200, expected, "{text}");
    }
}

#[tokio::test]
async fn a_resource_that_moves_takes_tokens_of_its_new_server_only() {
    let old = Peer::new("{}").await;
    let new = OAuthMock::start(script("{}"), OAuthOptions::default().with_seed(8)).await.unwrap();
    let guard = old.mock.guard("http://127.0.0.1:9/mcp");
    let client = old.public_client().await;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let tokens = old.tokens(&client, &[]).await;
    assert!(check(&guard, Some(&tokens["access_token"]), &body).is_ok());
    guard.move_to(&new);
    assert_eq!(check(&guard, Some(&tokens["access_token"]), &body), Err(401));
    let answer = guard.metadata_route("/.well-known/oauth-protected-resource/mcp").await.unwrap();
    let bytes = axum::body::to_bytes(answer.into_body(), 10_000).await.unwrap();
    let metadata: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(metadata["authorization_servers"], json!([new.issuer()]));
    assert_eq!(new.audit().len(), 2);
}
