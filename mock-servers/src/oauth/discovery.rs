//! The metadata documents: of the authorization server (RFC 8414), of the OpenID provider, and of the identity provider.

use serde_json::{Map, Value, json};

use super::{
    audit::{AuditEvent, Discovered},
    script::{AuthMethod, DpopMode, GrantType},
    server::Server,
};
use crate::oauth_messages::{Document, OAuthResponse};

const OAUTH: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";

/// The document at a path, if there is one.
pub(crate) fn document(server: &Server, path: &str) -> Option<OAuthResponse> {
    let (which, name, body) = find(server, path)?;
    let mut answer = OAuthResponse::json(200, &body);
    server.faults.apply(&mut answer, |fault, answer| fault.document(which, answer));
    let discovered = Discovered { document: name.to_owned(), path: path.to_owned(), status: answer.status };
    server.note(None, AuditEvent::Discovered(discovered));
    Some(answer)
}

fn find(server: &Server, path: &str) -> Option<(Document, &'static str, Value)> {
    let (script, discovery) = (&server.script, &server.script.discovery);
    let tenant = script.issuer_path.trim_end_matches('/');
    let server_document = Document::AuthorizationServer;
    if path == script.endpoints.jwks {
        return Some((Document::Jwks, "jwks", json!({"keys": [server.key.public_jwk()]})));
    }
    if let Some(found) = provider(server, path) {
        return Some(found);
    }
    let inserted = |base: &str| path.strip_prefix(base) == Some(tenant);
    if (discovery.oauth && inserted(OAUTH)) || (discovery.oauth_at_root && path == OAUTH) {
        return Some((server_document, "authorization-server", metadata(server, false)));
    }
    let appended = path.strip_suffix(OPENID) == Some(tenant);
    if (discovery.openid_inserted && inserted(OPENID)) || (discovery.openid_appended && appended) {
        return Some((server_document, "openid", metadata(server, true)));
    }
    None
}

/// The metadata of the authorization server, with the members of the script.
pub(crate) fn metadata(server: &Server, is_openid: bool) -> Value {
    let script = &server.script;
    let mut document = plain(server);
    if is_openid {
        // OpenID Connect Discovery section 3 requires these.
        for (name, value) in [
            ("subject_types_supported", json!(["public"])),
            ("id_token_signing_alg_values_supported", json!(["ES256"])),
        ] {
            document.insert(name.to_owned(), value);
        }
    }
    lay_over(&mut document, &script.metadata, server);
    server.faults.apply(&mut document, |fault, document| fault.metadata(&server.issuer, document));
    Value::Object(document)
}

fn plain(server: &Server) -> Map<String, Value> {
    let (script, endpoints) = (&server.script, &server.script.endpoints);
    let methods: Vec<_> = script.token_endpoint_auth_methods.iter().map(|method| method.name()).collect();
    let confidential: Vec<_> = methods.iter().filter(|name| **name != AuthMethod::None.name()).collect();
    let grants: Vec<_> = script.grants().into_iter().map(GrantType::name).collect();
    let registration = script.registration.enabled && script.registration.advertised;
    let signed = script.token_endpoint_auth_methods.contains(&AuthMethod::PrivateKeyJwt);
    let dpop = script.dpop.mode != DpopMode::Off;
    let members = [
        ("issuer", json!(server.issuer)),
        ("authorization_endpoint", json!(server.at(&endpoints.authorization))),
        ("token_endpoint", json!(server.token_endpoint())),
        ("registration_endpoint", some(registration, || json!(server.at(&endpoints.registration)))),
        ("revocation_endpoint", json!(server.at(&endpoints.revocation))),
        ("introspection_endpoint", json!(server.at(&endpoints.introspection))),
        ("introspection_endpoint_auth_methods_supported", json!(confidential)),
        ("jwks_uri", json!(server.at(&endpoints.jwks))),
        ("response_types_supported", json!(["code"])),
        ("response_modes_supported", json!(["query"])),
        ("grant_types_supported", json!(grants)),
        ("token_endpoint_auth_methods_supported", json!(methods)),
        ("token_endpoint_auth_signing_alg_values_supported", some(signed, || json!(super::jwt::ALGORITHMS))),
        ("code_challenge_methods_supported", json!(script.pkce.methods)),
        ("scopes_supported", script.scopes_supported.as_ref().map_or(Value::Null, |scopes| json!(scopes))),
        ("authorization_response_iss_parameter_supported", some(script.iss_parameter, || json!(true))),
        ("client_id_metadata_document_supported", some(script.client_id_metadata.supported, || json!(true))),
        ("dpop_signing_alg_values_supported", some(dpop, || json!(script.dpop.algs))),
    ];
    members.into_iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| (name.to_owned(), value)).collect()
}

fn some(condition: bool, value: impl FnOnce() -> Value) -> Value {
    if condition { value() } else { Value::Null }
}

/// Merges the members of a script into a document; a null removes a member.
pub(crate) fn lay_over(document: &mut Map<String, Value>, members: &Map<String, Value>, server: &Server) {
    for (name, value) in members {
        match value {
            Value::Null => drop(document.shift_remove(name)),
            value => drop(document.insert(name.clone(), filled(value, server))),
        }
    }
}

fn filled(value: &Value, server: &Server) -> Value {
    match value {
        Value::String(text) => {
            Value::from(text.replace("{{origin}}", &server.origin).replace("{{issuer}}", &server.issuer))
        }
        Value::Array(items) => items.iter().map(|item| filled(item, server)).collect(),
        other => other.clone(),
    }
}

/// The documents of the identity provider.
fn provider(server: &Server, path: &str) -> Option<(Document, &'static str, Value)> {
    let (provider, issuer) = server.provider()?;
    let below = path.strip_prefix(&provider.path);
    if below == Some("/jwks.json") {
        let key = server.trusted.iter().find(|trusted| trusted.is_provider)?.signing.as_ref()?;
        return Some((Document::Jwks, "jwks", json!({"keys": [key.public_jwk()]})));
    }
    if below != Some(OPENID) && path.strip_prefix(OPENID) != Some(provider.path.as_str()) {
        return None;
    }
    let document = json!({
        "issuer": issuer,
        "token_endpoint": format!("{issuer}/token"),
        "jwks_uri": format!("{issuer}/jwks.json"),
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
        "grant_types_supported": [GrantType::TokenExchange.name()],
        "identity_chaining_requested_token_types_supported": ["urn:ietf:params:oauth:token-type:id-jag"],
    });
    Some((Document::AuthorizationServer, "openid", document))
}
