//! The built-in client against every OAuth fault: it rejects the server with a specific error, or the fault is
//! harmless and it continues.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use client::{
    CallOptions, ConnectOptions, Endpoint, HttpEndpoint, ServerConfig,
    auth::{AuthSettings, Authorizer, HeadlessBrowser, credentials::CredentialKey, store::MemoryStore},
    connect_with,
};
use mock_servers::oauth::{AuditEvent, OAuthFault, OAuthMock, OAuthOptions, script};
use serde_json::{Value, json};

/// The client gets its answer.
const SURVIVES: &str = "survives";
const REJECTED: &str = "authorization-response-rejected";
const GAVE_UP: &str = "authorization-gave-up";
const NOT_FOUND: &str = "authorization-server-not-found";
const UNREACHABLE: &str = "authorization-unreachable";
const MALFORMED: &str = "malformed-response";
const FORBIDDEN: &str = "forbidden-url";

/// Timeout of one request to the authorization server.
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(1_500);

/// The fault as in a script, the rest of the script, and the expected outcome.
fn table() -> Vec<(Value, Value, &'static str)> {
    let plain = json!({});
    let bound = json!({"dpop": {"mode": "required", "server_nonce": true, "resource_nonce": true}});
    let scoped = json!({"resource": {"required_scopes": ["read"]}});
    let brief = json!({"lifetimes": {"access_token": "20s"}});
    let elsewhere = "https://evil.example.com/there";
    let metadata_service = "http://169.254.169.254/latest";
    let fault = |name: &str, facts: Value| json!({name: facts});
    vec![
        (fault("wrong-authorization-servers", json!({"servers": []})), plain.clone(), MALFORMED),
        (fault("wrong-authorization-servers", json!({"servers": [metadata_service]})), plain.clone(), FORBIDDEN),
        (
            fault("wrong-resource", json!({"resource": "https://evil.example.com/mcp"})),
            plain.clone(),
            "resource-mismatch",
        ),
        (fault("broken-json", json!({})), plain.clone(), NOT_FOUND),
        (json!("broken-token-response"), plain.clone(), MALFORMED),
        (fault("changed-registration", json!({"with": {"redirect_uris": [elsewhere]}})), plain.clone(), MALFORMED),
        (json!("code-accepted-twice"), plain.clone(), SURVIVES),
        (json!("code-and-error"), plain.clone(), REJECTED),
        (json!("invalid-refresh-token"), brief, SURVIVES),
        (fault("document-status", json!({"status": 500})), plain.clone(), NOT_FOUND),
        (fault("endless-nonce", json!({})), bound.clone(), "token-refused"),
        (fault("endless-nonce", json!({"at_resource": true})), bound.clone(), GAVE_UP),
        (
            fault("untrusted-endpoint", json!({"endpoint": "token_endpoint", "url": metadata_service})),
            plain.clone(),
            FORBIDDEN,
        ),
        (
            fault("untrusted-endpoint", json!({"endpoint": "authorization_endpoint", "url": "javascript:alert(1)"})),
            plain.clone(),
            FORBIDDEN,
        ),
        (
            fault("untrusted-endpoint", json!({"endpoint": "registration_endpoint", "url": "file:///etc/passwd"})),
            plain.clone(),
            FORBIDDEN,
        ),
        (fault("error-response", json!({"error": "server_error"})), plain.clone(), "authorization-denied"),
        (fault("wrong-expires-in", json!({"expires_in": "soon"})), plain.clone(), SURVIVES),
        (fault("wrong-expires-in", json!({"expires_in": -5})), plain.clone(), SURVIVES),
        (fault("wrong-audience", json!({"audience": "https://evil.example.com"})), plain.clone(), GAVE_UP),
        (fault("oversized-document", json!({"bytes": 50_000_000})), plain.clone(), MALFORMED),
        (json!("pkce-not-verified"), plain.clone(), SURVIVES),
        (fault("issuer-mismatch", json!({"as": "stranger"})), plain.clone(), "issuer-mismatch"),
        (fault("issuer-mismatch", json!({"as": "upper-case"})), plain.clone(), "issuer-mismatch"),
        (fault("malformed-challenge", json!({"value": "Bearer scope=\"a, ==\""})), plain.clone(), SURVIVES),
        (fault("untrusted-metadata-url", json!({"url": metadata_service})), plain.clone(), SURVIVES),
        (json!("missing-challenge"), plain.clone(), SURVIVES),
        (json!("missing-iss"), plain.clone(), REJECTED),
        (json!("missing-state"), plain.clone(), REJECTED),
        (fault("reduced-scope", json!({"scope": "other"})), scoped, GAVE_UP),
        (json!("no-expires-in"), plain.clone(), SURVIVES),
        (json!("pkce-not-advertised"), plain.clone(), "authorization-server-unsupported"),
        (json!("plain-pkce"), plain.clone(), "authorization-server-unsupported"),
        (fault("wrong-redirect-target", json!({"to": elsewhere})), plain.clone(), REJECTED),
        (fault("redirected-document", json!({"to": elsewhere, "status": 302})), plain.clone(), NOT_FOUND),
        (fault("redirected-token", json!({"to": elsewhere, "status": 307})), plain.clone(), "token-refused"),
        (
            fault("registration-refused", json!({"status": 400, "error": "invalid_redirect_uri"})),
            plain.clone(),
            "client-registration-failed",
        ),
        (json!("registration-without-id"), plain.clone(), MALFORMED),
        (fault("repeated-parameter", json!({"name": "code"})), plain.clone(), REJECTED),
        (fault("repeated-parameter", json!({"name": "iss"})), plain.clone(), REJECTED),
        (json!("duplicate-code"), plain.clone(), SURVIVES),
        (fault("slow-document", json!({"delay": "60s"})), plain.clone(), UNREACHABLE),
        (fault("slow-document", json!({"per_byte": "100ms"})), plain.clone(), UNREACHABLE),
        (fault("slow-token", json!({"delay": "60s"})), plain.clone(), UNREACHABLE),
        (fault("token-refused", json!({"status": 503})), plain.clone(), "token-refused"),
        (fault("token-refused", json!({"status": 400, "error": "invalid_grant"})), plain.clone(), "token-refused"),
        (json!("tokens-rejected"), plain.clone(), GAVE_UP),
        (json!("dpop-not-bound"), bound, MALFORMED),
        (json!("invalid-token-signature"), plain.clone(), GAVE_UP),
        (fault("extra-scope", json!({"scope": "everything and more"})), plain.clone(), SURVIVES),
        (fault("wrong-content-type", json!({"content_type": "text/html"})), plain.clone(), SURVIVES),
        (fault("wrong-iss", json!({"as": "stranger"})), plain.clone(), REJECTED),
        (fault("wrong-iss", json!({"as": "trailing-slash"})), plain.clone(), REJECTED),
        // Nothing is exchanged in this flow; the enterprise's is in `oauth_flows.rs`.
        (fault("wrong-issued-token-type", json!({"issued_token_type": "x"})), plain.clone(), SURVIVES),
        (json!("wrong-state"), plain.clone(), REJECTED),
        (fault("wrong-token-type", json!({"token_type": "mac"})), plain, MALFORMED),
    ]
}

/// The name of a fault.
fn name(fault: &Value) -> String {
    fault.as_str().or_else(|| fault.as_object()?.keys().next().map(String::as_str)).unwrap_or_default().to_owned()
}

/// The outcome for the client, and the audit events of the server.
async fn outcome(script: &Value) -> (String, Vec<AuditEvent>) {
    let script = script::parse(&script.to_string(), "fault.json").expect("the script makes sense");
    let mock = OAuthMock::start(script, OAuthOptions::default()).await.expect("it starts");
    let url = mock.protected().parse().expect("a URL");
    let settings = AuthSettings { timeout: RESPONSE_TIMEOUT, ..AuthSettings::default() };
    let (store, browser) = (Arc::new(MemoryStore::default()), Arc::new(HeadlessBrowser::default()));
    let authorizer = Authorizer::new("faulty", CredentialKey::from_url(&url), &url, settings, store, Some(browser));
    let endpoint = HttpEndpoint { url: url.to_string(), ..HttpEndpoint::default() };
    let config = ServerConfig::new("faulty", Endpoint::StreamableHttp(endpoint));
    let authorizer = Arc::new(authorizer);
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
async fn every_fault_is_rejected_by_kind_or_harmless() {
    let cases = table().into_iter().map(|(fault, mut script, expected)| async move {
        script["faults"] = json!([{"fault": fault}]);
        let (said, audit) =
            tokio::time::timeout(Duration::from_secs(60), outcome(&script)).await.expect("no fault hangs it");
        let tokens = audit.iter().filter(|event| matches!(event, AuditEvent::TokenRequested(_))).count();
        let mut problems = Vec::new();
        if said != expected {
            problems.push(format!("{fault}: expected {expected}, got {said}"));
        }
        // A code that came in an answer which is not believed is never sent on.
        if expected == REJECTED && tokens > 0 {
            problems.push(format!("{fault}: the code was used all the same"));
        }
        // Nothing is tried for ever: three authorizations, each with a nonce or two.
        if tokens > 9 {
            problems.push(format!("{fault}: {tokens} requests for tokens"));
        }
        problems
    });
    let problems: Vec<_> = futures::future::join_all(cases).await.into_iter().flatten().collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn the_table_has_every_fault() {
    let known: BTreeSet<_> = OAuthFault::names().into_iter().collect();
    let listed: BTreeSet<_> = table().iter().map(|(fault, ..)| name(fault)).collect();
    assert_eq!(listed, known);
    assert_eq!(known.len(), 45);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conforming_server_takes_one_flow() {
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
