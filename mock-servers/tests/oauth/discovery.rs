//! Where metadata is, and what it says.

use mcp_workbench_mock_servers::oauth::AuditEvent;
use serde_json::json;

use crate::peer::Peer;

const PATHS: [&str; 7] = [
    "/.well-known/oauth-authorization-server/tenant1",
    "/.well-known/oauth-authorization-server",
    "/.well-known/openid-configuration/tenant1",
    "/tenant1/.well-known/openid-configuration",
    "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/oauth-protected-resource",
    "/custom/metadata.json",
];

/// The paths of [`PATHS`] that are there.
async fn found(discovery: &str) -> Vec<&'static str> {
    let peer = Peer::new(&format!("issuer_path: /tenant1\ndiscovery: {discovery}\n")).await;
    let mut found = Vec::new();
    for path in PATHS {
        let answer = peer.get(path).await;
        if answer.status == 200 {
            assert_eq!(answer.header("content-type"), "application/json", "{path}");
            found.push(path);
        } else {
            assert_eq!(answer.status, 404, "{path}");
        }
    }
    found
}

#[tokio::test]
async fn each_document_is_where_the_script_says_and_nowhere_else() {
    assert_eq!(found("{}").await, [PATHS[0], PATHS[4]]);
    assert_eq!(found("{ oauth: false, openid_inserted: true }").await, [PATHS[2], PATHS[4]]);
    assert_eq!(found("{ oauth: false, openid_appended: true }").await, [PATHS[3], PATHS[4]]);
    assert_eq!(found("{ oauth_at_root: true, protected_resource: false }").await, [PATHS[0], PATHS[1]]);
    let root = "{ oauth: false, protected_resource: false, protected_resource_at_root: true }";
    assert_eq!(found(root).await, [PATHS[5]]);
    let custom = "{ oauth: false, protected_resource: false, protected_resource_path: /custom/metadata.json }";
    assert_eq!(found(custom).await, [PATHS[6]]);
}

#[tokio::test]
async fn the_metadata_satisfies_those_who_check_servers() {
    let peer = Peer::new("{}").await;
    let metadata = peer.get("/.well-known/oauth-authorization-server").await.json();
    assert_eq!(metadata["issuer"], peer.mock.issuer());
    assert_eq!(metadata["authorization_endpoint"], peer.at("/authorize"));
    assert_eq!(metadata["token_endpoint"], peer.at("/token"));
    assert_eq!(metadata["registration_endpoint"], peer.at("/register"));
    assert_eq!(metadata["response_types_supported"], json!(["code"]));
    assert_eq!(metadata["code_challenge_methods_supported"], json!(["S256"]));
    assert_eq!(metadata["client_id_metadata_document_supported"], true);
    assert_eq!(metadata["authorization_response_iss_parameter_supported"], true);
    assert_eq!(metadata.get("dpop_signing_alg_values_supported"), None);
    assert!(matches!(peer.last().event, AuditEvent::Discovered(found) if found.document == "authorization-server"));
}

#[tokio::test]
async fn the_script_lays_its_own_words_over_the_metadata() {
    let peer = Peer::new(
        "metadata: { scopes_supported: [a], registration_endpoint: null, service_documentation: '{{origin}}/doc' }\n\
         dpop: { mode: optional }\nresource: { scopes_supported: [b], metadata: { bearer_methods_supported: null } }\n",
    )
    .await;
    let metadata = peer.get("/.well-known/oauth-authorization-server").await.json();
    assert_eq!(metadata["scopes_supported"], json!(["a"]));
    assert_eq!(metadata.get("registration_endpoint"), None);
    assert_eq!(metadata["service_documentation"], peer.at("/doc"));
    assert_eq!(metadata["dpop_signing_alg_values_supported"], json!(["ES256", "EdDSA", "RS256"]));
    let resource = peer.get("/.well-known/oauth-protected-resource/mcp").await.json();
    assert_eq!(resource["resource"], peer.mock.protected());
    assert_eq!(resource["authorization_servers"], json!([peer.mock.issuer()]));
    assert_eq!(resource["scopes_supported"], json!(["b"]));
    assert_eq!(resource.get("bearer_methods_supported"), None);
}

#[tokio::test]
async fn endpoints_are_where_the_script_puts_them() {
    let peer = Peer::new("endpoints: { token: /oauth/token }\n").await;
    assert_eq!(
        peer.get("/.well-known/oauth-authorization-server").await.json()["token_endpoint"],
        peer.at("/oauth/token")
    );
    assert_eq!(peer.get("/oauth/token").await.status, 405);
    assert_eq!(peer.get("/token?secret=x").await.status, 404);
    assert_eq!(peer.last().event, AuditEvent::Missed { method: "GET".to_owned(), path: "/token".to_owned() });
}
