//! The identity provider's token endpoint: an ID token for an identity assertion authorization grant (RFC 8693, as the
//! enterprise-managed authorization extension uses it).

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, header};
use serde_json::{Value, json};

use super::assertion::ID_JAG;
use crate::oauth::{
    audit::{AuditEvent, TokenRequested, few},
    client_auth::check_times,
    error::OAuthError,
    jwt::Jwt,
    params::Params,
    sanitize::sanitized,
    script::{GrantType, IdentityProvider},
    server::{Server, same_url},
};
use crate::oauth_messages::OAuthResponse;

const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const ID_JAG_TYPE: &str = "urn:ietf:params:oauth:token-type:id-jag";
/// Maximum lifetime of an ID token, in seconds.
const MAX_LIFETIME: u64 = 86_400;

/// Handles a request at the identity provider's token endpoint.
pub(crate) fn exchange(server: &Server, headers: &HeaderMap, params: &Params) -> OAuthResponse {
    let Some((provider, issuer)) = server.provider() else { return OAuthResponse::empty(404) };
    let granted = grant(server, (provider, &issuer), headers, params);
    let noted = TokenRequested {
        grant: params.get("grant_type").map(sanitized),
        resource: few(&params.all("resource")),
        scope: params.get("scope").map(sanitized),
        granted_scope: granted.as_ref().ok().and_then(|(_, scope)| scope.clone()),
        error: granted.as_ref().err().map(|refusal| refusal.error.clone()),
        ..TokenRequested::default()
    };
    server.note(params.get("client_id"), AuditEvent::TokenRequested(noted));
    match granted {
        Ok((token, scope)) => {
            let mut body = json!({
                "access_token": token,
                "issued_token_type": ID_JAG_TYPE,
                // The issued token is not an access token (RFC 8693 section 2.2.1).
                "token_type": "N_A",
                "expires_in": provider.grant_lifetime.0.as_secs(),
            });
            if let Some(scope) = scope {
                body["scope"] = Value::from(scope);
            }
            if let Some(body) = body.as_object_mut() {
                server.faults.apply(body, |fault, body| fault.exchange_response(body));
            }
            OAuthResponse::json(200, &body).uncached()
        }
        Err(refusal) => refusal.response(),
    }
}

fn grant(
    server: &Server,
    (provider, issuer): (&IdentityProvider, &str),
    headers: &HeaderMap,
    params: &Params,
) -> Result<(String, Option<String>), OAuthError> {
    params.refuse_repeated()?;
    let expect = |name: &str, value: &str| match params.required(name)? {
        said if said == value => Ok(()),
        _ => Err(OAuthError::new("invalid_request", format!("{name} has to be {value}"))),
    };
    if params.required("grant_type")? != GrantType::TokenExchange.name() {
        return Err(OAuthError::new("unsupported_grant_type", "only tokens are exchanged here"));
    }
    authenticate(provider, headers, params)?;
    expect("requested_token_type", ID_JAG_TYPE)?;
    expect("subject_token_type", ID_TOKEN)?;
    let subject = subject(server, (provider, issuer), params.required("subject_token")?)?;
    let audience = params.required("audience")?;
    if !same_url(audience, &server.issuer) {
        return Err(OAuthError::new("invalid_target", "the audience is not an authorization server of the enterprise"));
    }
    let resource = params.required("resource")?;
    if provider.allowed_resources.as_ref().is_some_and(|allowed| !allowed.iter().any(|known| same_url(known, resource)))
    {
        return Err(OAuthError::new("access_denied", "the policy does not allow the resource"));
    }
    let scopes: Vec<String> = params
        .scopes()
        .into_iter()
        .filter(|scope| provider.allowed_scopes.as_ref().is_none_or(|allowed| allowed.contains(scope)))
        .collect();
    let scope = (!scopes.is_empty()).then(|| scopes.join(" "));
    Ok((sign(server, provider, issuer, (&subject, resource, scope.as_deref())), scope))
}

fn authenticate(provider: &IdentityProvider, headers: &HeaderMap, params: &Params) -> Result<(), OAuthError> {
    let basic = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok()?.strip_prefix("Basic "))
        .and_then(|encoded| String::from_utf8(STANDARD.decode(encoded).ok()?).ok());
    let basic = basic.as_deref().and_then(|text| text.split_once(':'));
    let id = basic.map(|(id, _)| id).or(params.get("client_id"));
    let secret = basic.map(|(_, secret)| secret).or(params.get("client_secret"));
    // A client without a secret can omit its id: the ID token names it (its audience).
    let known = id.is_none_or(|id| id == provider.client_id);
    if known && provider.client_secret.as_deref().is_none_or(|expected| secret == Some(expected)) {
        Ok(())
    } else {
        Err(OAuthError::client("the client is not known, or its secret is wrong"))
    }
}

/// The subject of the ID token.
fn subject(server: &Server, (provider, issuer): (&IdentityProvider, &str), token: &str) -> Result<String, OAuthError> {
    let invalid = |words: &str| OAuthError::new("invalid_grant", words);
    let jwt = Jwt::parse(token).ok_or_else(|| invalid("the subject token is not a JWT"))?;
    let trusted = server.trusted.iter().find(|trusted| trusted.is_provider);
    if !trusted.is_some_and(|trusted| jwt.is_signed_by_any(&trusted.keys)) || jwt.claim("iss") != Some(issuer) {
        return Err(invalid("the subject token is not of this identity provider"));
    }
    if jwt.header("typ") == Some(ID_JAG) || !jwt.audiences().contains(&provider.client_id.as_str()) {
        return Err(invalid("the subject token is not an ID token of this client"));
    }
    check_times(server, &jwt, MAX_LIFETIME).map_err(invalid)?;
    jwt.claim("sub").map(str::to_owned).ok_or_else(|| invalid("the subject token has no sub"))
}

fn sign(
    server: &Server,
    provider: &IdentityProvider,
    issuer: &str,
    (subject, resource, scope): (&str, &str, Option<&str>),
) -> String {
    let now = server.clock.seconds();
    let mut claims = json!({
        "iss": issuer,
        "sub": subject,
        "aud": server.issuer,
        "client_id": provider.server_client_id,
        "resource": resource,
        "jti": server.state().secret(),
        "iat": now,
        "exp": now + provider.grant_lifetime.0.as_secs(),
    });
    if let Some(scope) = scope {
        claims["scope"] = Value::from(scope);
    }
    let key = server.trusted.iter().find(|trusted| trusted.is_provider).and_then(|trusted| trusted.signing.as_ref());
    key.map(|key| key.sign(ID_JAG, &claims)).unwrap_or_default()
}
