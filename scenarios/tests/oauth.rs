//! The built-in client against every lie of the fake authorization server: it refuses with an error that says what was
//! wrong, or it goes on because the lie does it no harm.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use client::{
    CallOptions, ConnectOptions, Endpoint, HttpEndpoint, ServerConfig,
    auth::{AuthSettings, Authorizer, HeadlessBrowser, credentials::CredentialKey, store::MemoryStore},
    connect_with,
};
use mock_servers::oauth::{AuditEvent, OAuthMock, OAuthOptions, lies::Falsehood, script};
use serde_json::{Value, json};

/// The client gets its answer.
const SURVIVES: &str = "survives";
const REJECTED: &str = "authorization-response-rejected";
const GAVE_UP: &str = "authorization-gave-up";
const NOT_FOUND: &str = "authorization-server-not-found";
const UNREACHABLE: &str = "authorization-unreachable";
const MALFORMED: &str = "malformed-answer";
const FORBIDDEN: &str = "forbidden-url";

/// How long the client waits for one answer of an authorization server.
const PATIENCE: Duration = Duration::from_millis(1_500);

/// A lie as a script writes it, the rest of the script, and what comes of it.
fn table() -> Vec<(Value, Value, &'static str)> {
    let plain = json!({});
    let bound = json!({"dpop": {"mode": "required", "server_nonce": true, "resource_nonce": true}});
    let scoped = json!({"resource": {"required_scopes": ["read"]}});
    let brief = json!({"lifetimes": {"access_token": "20s"}});
    let elsewhere = "https://evil.example.com/there";
    let metadata_service = "http://169.254.169.254/latest";
    let lie = |name: &str, facts: Value| json!({name: facts});
    vec![
        (lie("another-authorization-server", json!({"servers": []})), plain.clone(), MALFORMED),
        (lie("another-authorization-server", json!({"servers": [metadata_service]})), plain.clone(), FORBIDDEN),
        (
            lie("another-resource", json!({"resource": "https://evil.example.com/mcp"})),
            plain.clone(),
            "resource-mismatch",
        ),
        (lie("broken-json", json!({})), plain.clone(), NOT_FOUND),
        (json!("broken-token-response"), plain.clone(), MALFORMED),
        (lie("changed-registration", json!({"with": {"redirect_uris": [elsewhere]}})), plain.clone(), MALFORMED),
        (json!("code-accepted-twice"), plain.clone(), SURVIVES),
        (json!("code-and-error"), plain.clone(), REJECTED),
        (json!("dead-refresh-token"), brief, SURVIVES),
        (lie("document-status", json!({"status": 500})), plain.clone(), NOT_FOUND),
        (lie("endless-nonce", json!({})), bound.clone(), "token-refused"),
        (lie("endless-nonce", json!({"at_resource": true})), bound.clone(), GAVE_UP),
        (
            lie("endpoint-elsewhere", json!({"endpoint": "token_endpoint", "url": metadata_service})),
            plain.clone(),
            FORBIDDEN,
        ),
        (
            lie("endpoint-elsewhere", json!({"endpoint": "authorization_endpoint", "url": "javascript:alert(1)"})),
            plain.clone(),
            FORBIDDEN,
        ),
        (
            lie("endpoint-elsewhere", json!({"endpoint": "registration_endpoint", "url": "file:///etc/passwd"})),
            plain.clone(),
            FORBIDDEN,
        ),
        (lie("error-response", json!({"error": "server_error"})), plain.clone(), "authorization-denied"),
        (lie("expiry-misstated", json!({"expires_in": "soon"})), plain.clone(), SURVIVES),
        (lie("expiry-misstated", json!({"expires_in": -5})), plain.clone(), SURVIVES),
        (lie("foreign-audience", json!({"audience": "https://evil.example.com"})), plain.clone(), GAVE_UP),
        (lie("huge-document", json!({"bytes": 50_000_000})), plain.clone(), MALFORMED),
        (json!("ignored-verifier"), plain.clone(), SURVIVES),
        (lie("issuer-mismatch", json!({"as": "stranger"})), plain.clone(), "issuer-mismatch"),
        (lie("issuer-mismatch", json!({"as": "upper-case"})), plain.clone(), "issuer-mismatch"),
        (lie("malformed-challenge", json!({"value": "Bearer scope=\"a, ==\""})), plain.clone(), SURVIVES),
        (lie("metadata-url-elsewhere", json!({"url": metadata_service})), plain.clone(), SURVIVES),
        (json!("missing-challenge"), plain.clone(), SURVIVES),
        (json!("missing-iss"), plain.clone(), REJECTED),
        (json!("missing-state"), plain.clone(), REJECTED),
        (lie("narrower-scope", json!({"scope": "other"})), scoped, GAVE_UP),
        (json!("no-expires-in"), plain.clone(), SURVIVES),
        (json!("pkce-not-advertised"), plain.clone(), "authorization-server-unsupported"),
        (json!("plain-pkce"), plain.clone(), "authorization-server-unsupported"),
        (lie("redirect-elsewhere", json!({"to": elsewhere})), plain.clone(), REJECTED),
        (lie("redirected-document", json!({"to": elsewhere, "status": 302})), plain.clone(), NOT_FOUND),
        (lie("redirected-token", json!({"to": elsewhere, "status": 307})), plain.clone(), "token-refused"),
        (
            lie("registration-refused", json!({"status": 400, "error": "invalid_redirect_uri"})),
            plain.clone(),
            "client-registration-failed",
        ),
        (json!("registration-without-id"), plain.clone(), MALFORMED),
        (lie("repeated-parameter", json!({"name": "code"})), plain.clone(), REJECTED),
        (lie("repeated-parameter", json!({"name": "iss"})), plain.clone(), REJECTED),
        (json!("same-code"), plain.clone(), SURVIVES),
        (lie("slow-document", json!({"delay": "60s"})), plain.clone(), UNREACHABLE),
        (lie("slow-document", json!({"per_byte": "100ms"})), plain.clone(), UNREACHABLE),
        (lie("slow-token", json!({"delay": "60s"})), plain.clone(), UNREACHABLE),
        (lie("token-refused", json!({"status": 503})), plain.clone(), "token-refused"),
        (lie("token-refused", json!({"status": 400, "error": "invalid_grant"})), plain.clone(), "token-refused"),
        (json!("tokens-rejected"), plain.clone(), GAVE_UP),
        (json!("unbound-token"), bound, MALFORMED),
        (json!("unverifiable-token"), plain.clone(), GAVE_UP),
        (lie("wider-scope", json!({"scope": "everything and more"})), plain.clone(), SURVIVES),
        (lie("wrong-content-type", json!({"content_type": "text/html"})), plain.clone(), SURVIVES),
        (lie("wrong-iss", json!({"as": "stranger"})), plain.clone(), REJECTED),
        (lie("wrong-iss", json!({"as": "trailing-slash"})), plain.clone(), REJECTED),
        // Nothing is exchanged in this flow; the enterprise's is in `oauth_flows.rs`.
        (lie("wrong-issued-token-type", json!({"issued_token_type": "x"})), plain.clone(), SURVIVES),
        (json!("wrong-state"), plain.clone(), REJECTED),
        (lie("wrong-token-type", json!({"token_type": "mac"})), plain, MALFORMED),
    ]
}

/// The name of a lie.
fn name(lie: &Value) -> String {
    lie.as_str().or_else(|| lie.as_object()?.keys().next().map(String::as_str)).unwrap_or_default().to_owned()
}

/// What the client makes of a server with this script; the second is what the server saw.
async fn outcome(script: &Value) -> (String, Vec<AuditEvent>) {
    let script = script::parse(&script.to_string(), "lie.json").expect("the script makes sense");
    let mock = OAuthMock::start(script, OAuthOptions::default()).await.expect("it starts");
    let url = mock.protected().parse().expect("a URL");
    let settings = AuthSettings { timeout: PATIENCE, ..AuthSettings::default() };
    let (store, browser) = (Arc::new(MemoryStore::default()), Arc::new(HeadlessBrowser::default()));
    let authorizer = Authorizer::new("liar", CredentialKey::of_url(&url), &url, settings, store, Some(browser));
    let endpoint = HttpEndpoint { url: url.to_string(), ..HttpEndpoint::default() };
    let config = ServerConfig::new("liar", Endpoint::StreamableHttp(endpoint));
    let authorizer = Arc::new(authorizer.expect("an authorizer"));
    let options = ConnectOptions { authorizer: Some(authorizer), ..ConnectOptions::default() };
    let said = match connect_with(config, options).await {
        Err(error) => error.kind().to_owned(),
        Ok(server) => {
            let tools = server.list_tools().await.expect("tools");
            let tool = tools.tools[0].name().to_owned();
            let called = server.call(&tool, json!({}), CallOptions::default()).await;
            server.close().await;
            called.map_or_else(|error| error.kind().to_owned(), |_| SURVIVES.to_owned())
        }
    };
    let audit = mock.audit().into_iter().map(|entry| entry.event).collect();
    mock.stop().await;
    (said, audit)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_lie_is_refused_for_what_it_is_or_does_no_harm() {
    let cases = table().into_iter().map(|(lie, mut script, expected)| async move {
        script["lies"] = json!([{"tell": lie}]);
        let (said, audit) =
            tokio::time::timeout(Duration::from_secs(60), outcome(&script)).await.expect("no lie hangs it");
        let tokens = audit.iter().filter(|event| matches!(event, AuditEvent::TokenRequested(_))).count();
        let mut problems = Vec::new();
        if said != expected {
            problems.push(format!("{lie}: expected {expected}, got {said}"));
        }
        // A code that came in an answer which is not believed is never sent on.
        if expected == REJECTED && tokens > 0 {
            problems.push(format!("{lie}: the code was used all the same"));
        }
        // Nothing is tried for ever: three authorizations, each with a nonce or two.
        if tokens > 9 {
            problems.push(format!("{lie}: {tokens} requests for tokens"));
        }
        problems
    });
    let problems: Vec<_> = futures::future::join_all(cases).await.into_iter().flatten().collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn the_table_knows_every_lie() {
    let schema = serde_json::to_value(schemars::schema_for!(Falsehood)).expect("a schema");
    let mut known = BTreeSet::new();
    for one in schema["oneOf"].as_array().expect("the alternatives") {
        known.extend(one["const"].as_str().map(str::to_owned));
        known.extend(one["enum"].as_array().into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)));
        known.extend(one["properties"].as_object().into_iter().flat_map(|members| members.keys().cloned()));
    }
    let told: BTreeSet<_> = table().iter().map(|(lie, ..)| name(lie)).collect();
    assert_eq!(told, known);
    assert_eq!(known.len(), 45);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_honest_server_is_served_in_one_flow() {
    for script in [
        json!({}),
        json!({"dpop": {"mode": "required", "server_nonce": true, "resource_nonce": true}}),
        json!({"issuer_path": "/tenant1", "discovery": {"oauth": false, "openid_appended": true}}),
        json!({"resource": {"required_scopes": ["read"], "step_up": [{"method": "tools/call", "scopes": "write"}]}}),
    ] {
        let (said, audit) = outcome(&script).await;
        assert_eq!(said, SURVIVES, "{script}: {audit:#?}");
        let registrations = audit.iter().filter(|event| matches!(event, AuditEvent::Registered(_))).count();
        assert_eq!(registrations, 1, "{script}");
    }
}
