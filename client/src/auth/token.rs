//! Token requests (RFC 6749, sections 5.1 and 5.2).

use http::{HeaderValue, Method};
use serde_json::Value;
use url::Url;

use super::{
    address_policy::shown,
    auth_http::{AuthHttpClient, AuthServerResponse, Object, text},
    challenge::split_scopes,
    client_auth,
    credentials::{ClientRegistration, Secret, TokenType, now},
    dpop::{DPOP, DpopKey, Nonces},
    error::{AuthFailure, quoted},
};

/// Maximum number of attempts with new nonces.
const NONCE_TRIES: u32 = 3;
/// Longer tokens do not fit into a header.
const MAX_TOKEN_LEN: usize = 64 * 1024;

/// A token request.
#[derive(Debug)]
pub(super) struct TokenRequest<'a> {
    pub(super) endpoint: &'a Url,
    /// The audience of the client's assertion.
    pub(super) issuer: &'a str,
    pub(super) grant: &'a str,
    pub(super) form: Vec<(&'static str, String)>,
    pub(super) client: &'a ClientRegistration,
    pub(super) algorithm: Option<&'a str>,
    /// The key of the token.
    pub(super) dpop: Option<(&'a DpopKey, &'a Nonces)>,
}

/// A token.
#[derive(Debug)]
pub(super) struct Granted {
    pub(super) access_token: Secret,
    pub(super) token_type: TokenType,
    /// In seconds since 1970.
    pub(super) expires_at: Option<u64>,
    pub(super) refresh_token: Option<Secret>,
    /// The granted scopes, if they differ from the requested ones.
    pub(super) scopes: Option<Vec<String>>,
}

/// Requests a token.
pub(super) async fn request(web: &AuthHttpClient, request: TokenRequest<'_>) -> Result<Granted, AuthFailure> {
    let bound = request.dpop.is_some();
    let response = send_request(web, &request).await?;
    let malformed =
        |problem: &str| AuthFailure::Malformed { endpoint: shown(request.endpoint), problem: problem.to_owned() };
    let body = response.object().ok_or_else(|| malformed("it is not a JSON object"))?;
    granted(&body, bound).map_err(|problem| malformed(&problem))
}

/// Requests a token of any type: that of an identity provider cannot be used for a server.
pub(super) async fn send_request(
    web: &AuthHttpClient,
    request: &TokenRequest<'_>,
) -> Result<AuthServerResponse, AuthFailure> {
    for _ in 0..NONCE_TRIES {
        let mut form = request.form.clone();
        form.insert(0, ("grant_type", request.grant.to_owned()));
        let post = web.endpoint(request.endpoint).await?;
        let mut post = client_auth::prove(post, &mut form, request.client, request.algorithm, request.issuer)?;
        if let Some((key, nonces)) = request.dpop {
            let proof = key.proof(&Method::POST, request.endpoint, nonces.get(request.endpoint).as_deref(), None);
            post = post.header(DPOP, proof);
        }
        let response = web.read(request.endpoint, post.form(&form)).await?;
        let new_nonce = request.dpop.is_some_and(|(_, nonces)| nonces.note(request.endpoint, &response.headers));
        if response.status.is_success() {
            return Ok(response);
        }
        let (error, description) = response.error();
        // RFC 9449, section 8: repeat the request with the nonce. Without a new nonce it would fail again.
        if error == "use_dpop_nonce" && new_nonce {
            continue;
        }
        return Err(AuthFailure::Token { grant: request.grant.to_owned(), error, description });
    }
    let description = Some("the server keeps requesting another nonce".to_owned());
    Err(AuthFailure::Token { grant: request.grant.to_owned(), error: "use_dpop_nonce".to_owned(), description })
}

fn granted(body: &Object, bound: bool) -> Result<Granted, String> {
    let access_token = token(body, "access_token")?.ok_or("it has no access token")?;
    // "The client MUST NOT use an access token if it does not understand the token type" (RFC 6749, section 7.1).
    let token_type = match text(body, "token_type").map(str::to_ascii_lowercase).as_deref() {
        Some("bearer") if bound => return Err("the token is not bound to the key of the proof".to_owned()),
        Some("bearer") => TokenType::Bearer,
        Some("dpop") if bound => TokenType::DPoP,
        Some("dpop") => return Err("the token is bound to an unknown key".to_owned()),
        Some(other) => return Err(format!("the token has the unknown type `{}`", quoted(other))),
        None => return Err("the token has no type".to_owned()),
    };
    Ok(Granted {
        access_token,
        token_type,
        expires_at: body.get("expires_in").and_then(seconds).map(|life| now().saturating_add(life)),
        refresh_token: token(body, "refresh_token")?,
        scopes: text(body, "scope").map(split_scopes),
    })
}

/// A token that can be sent in a header, if there is one.
pub(super) fn token(body: &Object, name: &str) -> Result<Option<Secret>, String> {
    let Some(value) = body.get(name).filter(|value| !value.is_null()) else { return Ok(None) };
    let text = value.as_str().unwrap_or_default();
    // `1*VSCHAR` (RFC 6749, appendix A.12).
    let is_token = !text.is_empty() && text.len() <= MAX_TOKEN_LEN && text.bytes().all(|byte| byte.is_ascii_graphic());
    if is_token && HeaderValue::from_str(text).is_ok() {
        return Ok(Some(Secret::new(text)));
    }
    Err(format!("`{name}` is not a token"))
}

/// A number of seconds. Some servers send a string or a fraction.
fn seconds(value: &Value) -> Option<u64> {
    let number = match value {
        Value::String(text) => text.trim().parse().ok()?,
        other => other.as_f64()?,
    };
    // A negative value means that the token has expired. The cast saturates.
    Some(number.max(0.0) as u64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(body: Value, bound: bool) -> Result<Granted, String> {
        granted(body.as_object().unwrap(), bound)
    }

    #[test]
    fn only_tokens_that_can_be_used_are_taken() {
        assert!(read(json!({"access_token": "a", "token_type": "bEaReR"}), false).is_ok());
        assert!(read(json!({"access_token": "a", "token_type": "DPoP"}), true).is_ok());
        for (body, bound) in [
            (json!({"token_type": "Bearer"}), false),
            (json!({"access_token": "", "token_type": "Bearer"}), false),
            (json!({"access_token": 7, "token_type": "Bearer"}), false),
            (json!({"access_token": "a\r\nx: y", "token_type": "Bearer"}), false),
            (json!({"access_token": "a"}), false),
            (json!({"access_token": "a", "token_type": "mac"}), false),
            (json!({"access_token": "a", "token_type": "DPoP"}), false),
            (json!({"access_token": "a", "token_type": "Bearer"}), true),
            (json!({"access_token": "a", "token_type": "Bearer", "refresh_token": [1]}), false),
        ] {
            assert!(read(body.clone(), bound).is_err(), "{body}");
        }
    }

    #[test]
    fn a_life_is_read_however_it_is_written() {
        for (life, read) in [
            (json!(60), Some(60)),
            (json!("60"), Some(60)),
            (json!(59.9), Some(59)),
            (json!(-1), Some(0)),
            (json!(null), None),
        ] {
            assert_eq!(seconds(&life), read, "{life}");
        }
        let granted =
            read(json!({"access_token": "a", "token_type": "Bearer", "expires_in": u64::MAX}), false).unwrap();
        assert!(granted.expires_at.is_some());
    }
}
