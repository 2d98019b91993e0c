//! Dynamic client registration (RFC 7591), open to every client with valid metadata.

use serde_json::{Map, Value, json};
use url::{Host, Url};

use super::{
    audit::{AuditEvent, Registered, bare, few},
    error::OAuthError,
    jwt,
    sanitize::sanitized,
    script::{ApplicationType, AuthMethod, GrantType},
    server::Server,
    state::Client,
};
use crate::oauth_messages::OAuthResponse;

/// Maximum number of redirect URIs of a client.
const MAX_REDIRECT_URIS: usize = 50;

pub(crate) fn register(server: &Server, content_type: &str, body: &[u8]) -> OAuthResponse {
    if let Some(answer) = server.faults.replacement(|fault| fault.reject_registration()) {
        let error = Some(format!("status {}", answer.status));
        server.note(None, AuditEvent::Registered(Registered { error, ..Registered::default() }));
        return answer;
    }
    let asked: Map<String, Value> = serde_json::from_slice(body).unwrap_or_default();
    let mut noted = noted(&asked);
    match admit(server, content_type, &asked) {
        Ok((client, response)) => {
            server.note(Some(&client.id), AuditEvent::Registered(noted));
            server.state().clients.insert(client.id.clone(), client);
            let mut answer = OAuthResponse::json(201, &Value::Object(response)).uncached();
            server.faults.apply(&mut answer, |fault, answer| answer.edit(|body| fault.registration(body)));
            answer
        }
        Err(refusal) => {
            noted.error = Some(refusal.error.clone());
            server.note(None, AuditEvent::Registered(noted));
            refusal.response()
        }
    }
}

fn admit(
    server: &Server,
    content_type: &str,
    asked: &Map<String, Value>,
) -> Result<(Client, Map<String, Value>), OAuthError> {
    if !content_type.starts_with("application/json") || asked.is_empty() {
        return Err(invalid("the body has to be a JSON object"));
    }
    let policy = &server.script.registration;
    let method = method_of(server, asked)?;
    let grants = grants_of(server, asked)?;
    let application = application_of(asked, policy.application_type_required)?;
    let redirect_uris = texts(asked, "redirect_uris")?.unwrap_or_default();
    if grants.contains(&GrantType::AuthorizationCode) && redirect_uris.is_empty() {
        return Err(OAuthError::new("invalid_redirect_uri", "redirect_uris is missing"));
    }
    let strict = policy.strict_redirect_uris.then_some(application).flatten();
    check_redirect_uris(&redirect_uris, strict)?;
    let keys = asked.get("jwks").map(jwt::key_set).unwrap_or_default();
    let jwks_uri = asked.get("jwks_uri").and_then(Value::as_str).map(str::to_owned);
    if method == AuthMethod::PrivateKeyJwt && keys.is_empty() && jwks_uri.is_none() {
        return Err(invalid("private_key_jwt needs jwks or jwks_uri"));
    }
    if asked.contains_key("jwks") && jwks_uri.is_some() {
        return Err(invalid("jwks and jwks_uri exclude each other"));
    }
    let (id, secret) = {
        let mut state = server.state();
        (format!("{}{}", policy.client_id_prefix, state.secret()), method.has_secret().then(|| state.secret()))
    };
    let now = server.clock.seconds();
    let scope = asked.get("scope").and_then(Value::as_str);
    let client = Client {
        id,
        secret,
        secret_expires: policy.secret_lifetime.map(|lifetime| now + lifetime.0.as_secs()),
        methods: vec![method],
        keys,
        jwks_uri,
        redirect_uris,
        any_redirect: false,
        grants,
        scopes: None,
        dpop_bound: asked.get("dpop_bound_access_tokens").and_then(Value::as_bool).unwrap_or(false),
        fresh_until: None,
    };
    let response = response(&client, asked, now, scope, application);
    Ok((client, response))
}

/// The registered client metadata (RFC 7591 section 3.2.1).
fn response(
    client: &Client,
    asked: &Map<String, Value>,
    now: u64,
    scope: Option<&str>,
    application: Option<ApplicationType>,
) -> Map<String, Value> {
    let mut response = asked.clone();
    response.retain(|name, _| name != "client_secret" && name != "client_id");
    let grants: Vec<_> = client.grants.iter().map(|grant| grant.name()).collect();
    let members = [
        ("client_id", json!(client.id)),
        ("client_id_issued_at", json!(now)),
        ("redirect_uris", json!(client.redirect_uris)),
        ("grant_types", json!(grants)),
        ("response_types", json!(["code"])),
        ("token_endpoint_auth_method", json!(client.methods.first().copied().unwrap_or(AuthMethod::None).name())),
        ("application_type", json!(application.unwrap_or(ApplicationType::Web))),
    ];
    response.extend(members.map(|(name, value)| (name.to_owned(), value)));
    if let Some(secret) = &client.secret {
        response.insert("client_secret".to_owned(), json!(secret));
        // Zero means that it never expires (section 3.2.1).
        response.insert("client_secret_expires_at".to_owned(), json!(client.secret_expires.unwrap_or(0)));
    }
    if let Some(scope) = scope {
        response.insert("scope".to_owned(), json!(scope));
    }
    response
}

/// The requested method, or the first supported one: a server can replace unsupported methods (RFC 7591 section 2).
fn method_of(server: &Server, asked: &Map<String, Value>) -> Result<AuthMethod, OAuthError> {
    let known = &server.script.token_endpoint_auth_methods;
    let fallback = known.first().copied().ok_or_else(|| invalid("no client can authenticate here"))?;
    let wanted = match asked.get("token_endpoint_auth_method") {
        None => AuthMethod::ClientSecretBasic,
        Some(Value::String(name)) => match serde_json::from_value::<AuthMethod>(json!(name)) {
            Ok(method) => method,
            Err(_) => return Ok(fallback),
        },
        Some(_) => return Err(invalid("token_endpoint_auth_method has to be a text")),
    };
    Ok(if known.contains(&wanted) { wanted } else { fallback })
}

/// The requested grants that the server supports.
fn grants_of(server: &Server, asked: &Map<String, Value>) -> Result<Vec<GrantType>, OAuthError> {
    let wanted = texts(asked, "grant_types")?.unwrap_or_else(|| vec!["authorization_code".to_owned()]);
    let known = server.script.grants();
    let grants: Vec<_> =
        wanted.iter().filter_map(|name| GrantType::named(name)).filter(|g| known.contains(g)).collect();
    if grants.is_empty() { Err(invalid("none of the grant_types is supported")) } else { Ok(grants) }
}

fn application_of(asked: &Map<String, Value>, required: bool) -> Result<Option<ApplicationType>, OAuthError> {
    match asked.get("application_type") {
        None if required => Err(invalid("application_type is missing")),
        None => Ok(None),
        Some(value) => serde_json::from_value(value.clone())
            .map(Some)
            .map_err(|_| invalid("application_type has to be `native` or `web`")),
    }
}

fn texts(asked: &Map<String, Value>, name: &str) -> Result<Option<Vec<String>>, OAuthError> {
    match asked.get(name) {
        None => Ok(None),
        Some(value) => serde_json::from_value(value.clone())
            .map(Some)
            .map_err(|_| invalid(format!("{name} has to be a list of texts"))),
    }
}

/// Redirect URIs are absolute, without a fragment (RFC 6749 section 3.1.2), `https` or loopback or a private-use scheme
/// (OAuth 2.1 section 2.3.1), and match the application type, if the client has one.
pub(crate) fn check_redirect_uris(uris: &[String], application: Option<ApplicationType>) -> Result<(), OAuthError> {
    if uris.len() > MAX_REDIRECT_URIS {
        return Err(OAuthError::new("invalid_redirect_uri", "there are too many redirect URIs"));
    }
    for uri in uris {
        let refuse = |why: &str| Err(OAuthError::new("invalid_redirect_uri", format!("`{}` {why}", sanitized(uri))));
        let Ok(url) = Url::parse(uri) else { return refuse("is not an absolute URI") };
        let loopback = is_loopback(&url);
        match url.scheme() {
            _ if url.fragment().is_some() => return refuse("has a fragment"),
            "javascript" | "data" | "vbscript" | "file" | "blob" | "about" => return refuse("has a forbidden scheme"),
            "http" if !loopback => return refuse("is neither https nor a loopback address"),
            "http" | "https" if application == Some(ApplicationType::Web) && loopback => {
                return refuse("is a loopback address, which a web application must not use");
            }
            "http" | "https" => {}
            _ if application == Some(ApplicationType::Web) => {
                return refuse("has a scheme that needs a native application");
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether a URL has a loopback address.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

fn noted(asked: &Map<String, Value>) -> Registered {
    let text = |name: &str| asked.get(name).and_then(Value::as_str).map(sanitized);
    let list = |name: &str| few(&texts(asked, name).ok().flatten().unwrap_or_default());
    Registered {
        application_type: text("application_type"),
        redirect_uris: list("redirect_uris").iter().map(|uri| bare(uri)).collect(),
        grant_types: list("grant_types"),
        token_endpoint_auth_method: text("token_endpoint_auth_method"),
        scope: text("scope"),
        error: None,
    }
}

fn invalid(description: impl AsRef<str>) -> OAuthError {
    OAuthError::new("invalid_client_metadata", description)
}
