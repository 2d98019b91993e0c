//! Client registration: preregistered, by metadata document, or dynamic (2026-07-28, client registration; RFC 7591).

use http::header::CONTENT_TYPE;
use serde_json::{Value, json};
use url::Url;

use super::{
    address_policy::shown,
    auth_http::{AuthHttpClient, Object, text},
    client_auth,
    credentials::{AuthMethod, ClientRegistration, RegistrationSource, Secret, now},
    error::{AuthFailure, quoted},
    server::{ServerMetadata, auth_method, is_same, method_name},
    settings::{AuthSettings, ConfiguredClient},
};

/// The client for a flow with a redirect: a known one, in the order of the specification, or a new one.
pub(super) async fn client(
    web: &AuthHttpClient,
    settings: &AuthSettings,
    server: &ServerMetadata,
    redirect_uri: &str,
    bind: bool,
) -> Result<ClientRegistration, AuthFailure> {
    if let Some(client) = &settings.client {
        return configured(client, server);
    }
    if let Some(url) = settings.client_metadata_url.as_ref().filter(|_| server.takes_metadata_documents) {
        return Ok(by_document(url));
    }
    let Some(endpoint) = &server.registration_endpoint else {
        return Err(AuthFailure::RegistrationRequired { issuer: server.issuer.clone() });
    };
    register(web, settings, server, endpoint, redirect_uri, bind).await
}

/// Fails if a login needs a client that only the user can register. Sends nothing.
pub(super) fn check(settings: &AuthSettings, server: &ServerMetadata) -> Result<(), AuthFailure> {
    let has_document = settings.client_metadata_url.is_some() && server.takes_metadata_documents;
    if settings.client.is_some() || has_document || server.registration_endpoint.is_some() {
        return Ok(());
    }
    Err(AuthFailure::RegistrationRequired { issuer: server.issuer.clone() })
}

/// The preregistered client.
pub(super) fn configured(
    client: &ConfiguredClient,
    server: &ServerMetadata,
) -> Result<ClientRegistration, AuthFailure> {
    if let Some(known_at) = client.issuer.as_ref().filter(|issuer| !is_same(issuer, &server.issuer)) {
        return Err(AuthFailure::ServerChanged { registered_at: known_at.clone(), now: server.issuer.clone() });
    }
    if let Some(key) = &client.private_key {
        client_auth::check_key(key, client.signing_algorithm.as_deref())?;
    }
    let usual = client_auth::method(client.secret.is_some(), client.private_key.is_some(), &server.auth_methods);
    // A public client needs no authentication method, whatever the server lists.
    let is_public = client.secret.is_none() && client.private_key.is_none();
    let auth_method = client.auth_method.or(usual).or(is_public.then_some(AuthMethod::None));
    let auth_method = auth_method.ok_or_else(|| AuthFailure::Unsupported {
        issuer: server.issuer.clone(),
        what: "an authentication method of the configured client".to_owned(),
    })?;
    Ok(ClientRegistration {
        id: client.id.clone(),
        secret: client.secret.clone(),
        auth_method,
        private_key: client.private_key.clone(),
        source: RegistrationSource::PreRegistered,
        redirect_uri: None,
        registration_access_token: None,
        secret_expires_at: None,
    })
}

/// A client whose ID is the URL of its metadata document. Such clients are public.
fn by_document(url: &Url) -> ClientRegistration {
    ClientRegistration {
        id: url.to_string(),
        secret: None,
        auth_method: AuthMethod::None,
        private_key: None,
        source: RegistrationSource::MetadataDocument,
        redirect_uri: None,
        registration_access_token: None,
        secret_expires_at: None,
    }
}

async fn register(
    web: &AuthHttpClient,
    settings: &AuthSettings,
    server: &ServerMetadata,
    endpoint: &Url,
    redirect_uri: &str,
    bind: bool,
) -> Result<ClientRegistration, AuthFailure> {
    // A native application cannot keep a secret, so it is a public client if the server allows that.
    let preferred = [AuthMethod::None, AuthMethod::ClientSecretBasic, AuthMethod::ClientSecretPost];
    let wanted = preferred.into_iter().find(|method| server.auth_methods.contains(method)).unwrap_or(AuthMethod::None);
    let mut document = json!({
        "client_name": settings.client_name,
        "redirect_uris": [redirect_uri],
        // "MCP clients MUST specify an appropriate `application_type`" (2026-07-28, client registration).
        "application_type": application_type(redirect_uri),
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method_name(wanted),
    });
    if let Some(scopes) = &settings.scopes {
        document["scope"] = Value::from(scopes.join(" "));
    }
    if bind {
        document["dpop_bound_access_tokens"] = Value::from(true);
    }
    let request = web.endpoint(endpoint).await?.header(CONTENT_TYPE, "application/json").body(document.to_string());
    let response = web.read(endpoint, request).await?;
    if !response.status.is_success() {
        let (error, description) = response.error();
        return Err(AuthFailure::Registration { endpoint: shown(endpoint), error, description });
    }
    let body = response.object().unwrap_or_default();
    registered(&body, wanted, redirect_uri)
        .map_err(|problem| AuthFailure::Malformed { endpoint: shown(endpoint), problem })
}

/// Loopback addresses and custom schemes belong to native applications.
fn application_type(redirect_uri: &str) -> &'static str {
    let is_web = Url::parse(redirect_uri).is_ok_and(|url| {
        let host = url.host_str().unwrap_or_default();
        url.scheme() == "https" && !matches!(host, "localhost" | "127.0.0.1" | "[::1]")
    });
    if is_web { "web" } else { "native" }
}

/// The registered client, which may differ from the request (RFC 7591, section 3.2.1).
fn registered(body: &Object, wanted: AuthMethod, redirect_uri: &str) -> Result<ClientRegistration, String> {
    let id = text(body, "client_id").filter(|id| !id.is_empty()).ok_or("it has no `client_id`")?.to_owned();
    let secret = text(body, "client_secret").filter(|secret| !secret.is_empty()).map(Secret::new);
    let auth_method = match text(body, "token_endpoint_auth_method") {
        Some(name) => auth_method(name).ok_or_else(|| format!("unknown authentication method `{}`", quoted(name)))?,
        None => wanted,
    };
    let needs_secret = matches!(auth_method, AuthMethod::ClientSecretBasic | AuthMethod::ClientSecretPost);
    if needs_secret && secret.is_none() {
        return Err("the authentication method requires a secret, and there is none".to_owned());
    }
    if auth_method == AuthMethod::PrivateKeyJwt {
        return Err("the authentication method requires a key, and none was registered".to_owned());
    }
    let redirect_uris = body.get("redirect_uris").and_then(Value::as_array).filter(|all| !all.is_empty());
    if redirect_uris.is_some_and(|all| !all.iter().any(|uri| uri.as_str() == Some(redirect_uri))) {
        return Err("the registered redirect URI differs from the requested one".to_owned());
    }
    // "0 if it will not expire" (RFC 7591, section 3.2.1).
    let secret_expires_at = body.get("client_secret_expires_at").and_then(Value::as_u64).filter(|end| *end != 0);
    Ok(ClientRegistration {
        id,
        secret,
        auth_method,
        private_key: None,
        source: RegistrationSource::Dynamic,
        redirect_uri: Some(redirect_uri.to_owned()),
        registration_access_token: text(body, "registration_access_token").map(Secret::new),
        secret_expires_at,
    })
}

/// Whether the secret of a registration has not expired.
pub(super) fn is_alive(client: &ClientRegistration) -> bool {
    client.secret_expires_at.is_none_or(|end| end > now())
}

#[cfg(test)]
mod tests {
    use super::*;

    const REDIRECT: &str = "http://127.0.0.1:7/callback";

    fn read(body: &Value) -> Result<ClientRegistration, String> {
        registered(body.as_object().unwrap(), AuthMethod::None, REDIRECT)
    }

    #[test]
    fn the_response_counts_and_not_the_request() {
        let body = json!({"client_id": "c", "client_secret": "s", "token_endpoint_auth_method": "client_secret_post"});
        assert_eq!(read(&body).unwrap().auth_method, AuthMethod::ClientSecretPost);
        // A secret without an authentication method is not used.
        assert_eq!(read(&json!({"client_id": "c", "client_secret": "s"})).unwrap().auth_method, AuthMethod::None);
        for body in [
            json!({}),
            json!({"client_id": ""}),
            json!({"client_id": "c", "token_endpoint_auth_method": "client_secret_basic"}),
            json!({"client_id": "c", "token_endpoint_auth_method": "private_key_jwt"}),
            json!({"client_id": "c", "token_endpoint_auth_method": "magic"}),
            json!({"client_id": "c", "redirect_uris": ["http://127.0.0.1:7/other"]}),
        ] {
            assert!(read(&body).is_err(), "{body}");
        }
    }

    #[test]
    fn programs_on_the_users_machine_are_native() {
        for (uri, kind) in [
            (REDIRECT, "native"),
            ("http://localhost:1/cb", "native"),
            ("https://localhost/cb", "native"),
            ("com.example.app:/cb", "native"),
            ("https://app.example/cb", "web"),
        ] {
            assert_eq!(application_type(uri), kind, "{uri}");
        }
    }
}
