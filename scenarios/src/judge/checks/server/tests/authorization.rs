//! Checks of authorization.

use super::*;

/// What a server did without a valid token.
fn protected(without: Value, invalid: u16, document: Value) -> Talk {
    let metadata = json!([{ "url": "https://a.example/m", "named": false, "status": 200, "document": document }]);
    let value = json!({ "with": { "status": 200 }, "without": without, "invalid": { "status": invalid }, "metadata": metadata });
    http().step(value)
}

fn challenged(challenge: Value) -> Value {
    json!({ "status": 401, "challenge": challenge })
}

fn document(scopes: Value) -> Value {
    json!({ "resource": "https://a.example/mcp", "authorization_servers": ["https://b.example"], "scopes_supported": scopes })
}

fn in_revision(mut talk: Talk, revision: Revision) -> Talk {
    talk.0.revision = revision;
    talk
}

/// A protected server whose authorization server has this metadata.
fn authorized_by(document: Value) -> Talk {
    let server = json!({ "issuer": "https://b.example", "reached": true, "document": document });
    let value = json!({ "without": { "status": 401 }, "invalid": { "status": 401 }, "metadata": [],
        "authorization_server": server });
    http().step(value)
}

fn server_metadata(issuer: &str, methods: &[&str]) -> Value {
    json!({ "issuer": issuer, "authorization_endpoint": "https://b.example/authorize",
        "token_endpoint": "https://b.example/token", "code_challenge_methods_supported": methods })
}

pub(super) fn table() -> Vec<Row> {
    let metadata = |issuer: &str, methods: &[&str]| authorized_by(server_metadata(issuer, methods));
    let bearer = || challenged(json!({ "scheme": "Bearer" }));
    let scopes = |names: &[&str]| document(json!(names));
    let older = |challenge: Value| {
        in_revision(protected(challenged(challenge), 401, document(json!([]))), Revision::V2025_06_18)
    };
    let offline = |names: &[&str]| in_revision(protected(bearer(), 401, scopes(names)), Revision::V2026_07_28);
    vec![
        (
            "http-missing-token-is-401",
            protected(json!({ "status": 403, "challenge": null }), 403, json!(null)),
            protected(bearer(), 401, json!(null)),
        ),
        ("http-invalid-token-is-401", protected(bearer(), 200, json!(null)), protected(bearer(), 401, json!(null))),
        (
            "protected-resource-has-metadata",
            protected(bearer(), 401, json!(null)),
            protected(bearer(), 401, scopes(&[])),
        ),
        (
            "protected-resource-metadata-is-valid",
            protected(bearer(), 401, json!({ "resource": "https://a.example/mcp", "authorization_servers": [] })),
            protected(bearer(), 401, scopes(&[])),
        ),
        (
            "challenge-names-the-metadata",
            older(json!({ "scheme": "Bearer" })),
            older(json!({ "scheme": "Bearer", "resource_metadata": "https://a.example/m" })),
        ),
        (
            "challenge-names-the-scopes",
            protected(bearer(), 401, scopes(&["read"])),
            protected(challenged(json!({ "scheme": "Bearer", "scope": "read" })), 401, scopes(&["read"])),
        ),
        ("authorization-server-has-metadata", authorized_by(json!(null)), metadata("https://b.example", &[])),
        (
            "authorization-server-metadata-is-valid",
            metadata("https://c.example", &["S256"]),
            metadata("https://b.example", &["plain", "S256"]),
        ),
        ("scopes-have-no-offline-access", offline(&["offline_access"]), offline(&["read"])),
    ]
}

#[test]
fn a_server_with_other_credentials_than_tokens_needs_no_status_of_oauth() {
    let check = all().find(|check| check.id == "http-invalid-token-is-401").expect("a check");
    let key = protected(json!({ "status": 401, "challenge": null }), 403, json!(null));
    assert!(matches!(run(check, &key.0), CheckOutcome::NotApplicable(_)));
    let open = protected(json!({ "status": 200, "challenge": null }), 200, json!(null));
    assert!(matches!(run(check, &open.0), CheckOutcome::NotApplicable(_)));
}

#[test]
fn a_request_that_is_rejected_with_a_token_too_needs_no_401() {
    let check = all().find(|check| check.id == "http-missing-token-is-401").expect("a check");
    let unknown = json!({ "status": 404, "challenge": null });
    let talk = http().step(json!({ "without": unknown, "invalid": unknown, "with": unknown, "metadata": [] }));
    assert!(matches!(run(check, &talk.0), CheckOutcome::NotApplicable(_)));
}
