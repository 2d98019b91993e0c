//! Issued access tokens: verification, revocation (RFC 7009) and introspection (RFC 7662).

use http::HeaderMap;
use serde_json::{Map, Value, json};

use super::{
    audit::{AuditEvent, Outcome},
    client_auth,
    error::OAuthError,
    jwt::Jwt,
    params::Params,
    script::AuthMethod,
    server::Server,
    state::Client,
};
use crate::oauth_messages::OAuthResponse;

/// The reason why a token is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenError {
    /// Another server issued it.
    NotOurs,
    /// It has expired.
    Expired,
    /// It is not valid yet: the clock was set back after it was issued.
    NotYetValid,
    /// It was revoked.
    Revoked,
}

impl TokenError {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::NotOurs => "not-ours",
            Self::Expired => "expired",
            Self::NotYetValid => "not-yet-valid",
            Self::Revoked => "revoked",
        }
    }
}

/// The claims of a valid access token of this server, for any resource.
pub(crate) fn verify(server: &Server, token: &str) -> Result<Map<String, Value>, TokenError> {
    let jwt = Jwt::parse(token).ok_or(TokenError::NotOurs)?;
    // The type keeps other JWTs of the same key from passing for access tokens (RFC 9068 section 4).
    let ours = jwt.header("typ") == Some("at+jwt")
        && jwt.claim("iss") == Some(&server.issuer)
        && jwt.is_signed_by(server.key.decoding());
    if !ours {
        return Err(TokenError::NotOurs);
    }
    if jwt.time("exp").is_none_or(|expires| expires <= server.clock.seconds()) {
        return Err(TokenError::Expired);
    }
    // The token was issued by the same clock, so no leeway is needed (RFC 7519 section 4.1.5).
    if ["nbf", "iat"].iter().any(|name| jwt.time(name).is_some_and(|time| time > server.clock.seconds())) {
        return Err(TokenError::NotYetValid);
    }
    let state = server.state();
    if jwt.claim("jti").and_then(|id| state.tokens.get(id)).is_some_and(|token| token.revoked) {
        return Err(TokenError::Revoked);
    }
    drop(state);
    Ok(jwt.claims)
}

/// Handles a revocation request. An unknown token counts as revoked (RFC 7009 section 2.2).
pub(crate) fn revoke(server: &Server, headers: &HeaderMap, params: &Params) -> OAuthResponse {
    let done = client(server, headers, params).and_then(|client| {
        revoke_token(server, &client, params.required("token")?);
        Ok(())
    });
    let outcome = done.as_ref().map_or_else(|refusal| Outcome::Refused(refusal.error.clone()), |()| Outcome::Granted);
    server.note(params.get("client_id"), AuditEvent::Revoked { outcome });
    match done {
        Ok(()) => OAuthResponse::empty(200).uncached(),
        Err(refusal) => refusal.response(),
    }
}

fn revoke_token(server: &Server, client: &Client, token: &str) {
    let mut state = server.state();
    // Revoking a refresh token revokes the access tokens of its grant (section 2.1).
    if let Some(entry) = state.refresh.get(token).filter(|entry| entry.consent.client == client.id) {
        let family = entry.consent.family;
        return state.revoke_family(family);
    }
    drop(state);
    let Ok(claims) = verify(server, token) else { return };
    let own = claims.get("client_id").and_then(Value::as_str) == Some(&client.id);
    if let Some(id) = claims.get("jti").and_then(Value::as_str).filter(|_| own)
        && let Some(token) = server.state().tokens.get_mut(id)
    {
        token.revoked = true;
    }
}

/// Handles an introspection request of an authenticated client (RFC 7662 section 2.1).
pub(crate) fn introspect(server: &Server, headers: &HeaderMap, params: &Params) -> OAuthResponse {
    let described = client(server, headers, params).and_then(|client| {
        if client.methods == [AuthMethod::None] {
            return Err(OAuthError::client("a public client may not ask about tokens"));
        }
        Ok(describe(server, params.required("token")?))
    });
    let outcome =
        described.as_ref().map_or_else(|refusal| Outcome::Refused(refusal.error.clone()), |_| Outcome::Granted);
    server.note(params.get("client_id"), AuditEvent::Introspected { outcome });
    match described {
        Ok(body) => OAuthResponse::json(200, &body).uncached(),
        Err(refusal) => refusal.response(),
    }
}

fn describe(server: &Server, token: &str) -> Value {
    if let Ok(claims) = verify(server, token) {
        let mut body = claims;
        let bound = body.contains_key("cnf");
        body.insert("active".to_owned(), json!(true));
        body.insert("token_type".to_owned(), json!(if bound { "DPoP" } else { "Bearer" }));
        return Value::Object(body);
    }
    let state = server.state();
    match state.refresh.get(token).filter(|entry| !entry.used && entry.expires > server.clock.now()) {
        Some(entry) => json!({
            "active": true,
            "client_id": entry.consent.client,
            "scope": entry.consent.scopes.join(" "),
            "sub": entry.consent.subject,
            "exp": entry.expires.as_secs(),
        }),
        None => json!({"active": false}),
    }
}

fn client(server: &Server, headers: &HeaderMap, params: &Params) -> Result<Client, OAuthError> {
    params.refuse_repeated()?;
    client_auth::authenticate(server, &client_auth::claim(headers, params)?, params)
}
