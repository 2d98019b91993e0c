//! Client authentication at the token endpoint and similar endpoints (RFC 6749 section 2.3, RFC 7523 section 2.2).

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, header};
use url::form_urlencoded;

use super::{error::OAuthError, jwt::Jwt, params::Params, script::AuthMethod, server::Server, state::Client};

const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// The longest time until an assertion expires, in seconds.
const MAX_ASSERTION_LIFETIME: u64 = 3_600;

/// The identity that a client claims.
#[derive(Debug)]
pub(crate) struct Claim {
    pub(crate) id: String,
    pub(crate) method: AuthMethod,
    secret: Option<String>,
}

/// The client that a request claims to come from, and its authentication method.
pub(crate) fn claim(headers: &HeaderMap, params: &Params) -> Result<Claim, OAuthError> {
    let basic = basic(headers)?;
    let assertion = params.get("client_assertion");
    let secret = params.get("client_secret");
    if [basic.is_some(), assertion.is_some(), secret.is_some()].iter().filter(|used| **used).count() > 1 {
        return Err(OAuthError::new("invalid_request", "the client authenticates in more than one way"));
    }
    let said = params.get("client_id").map(str::to_owned);
    if let Some((id, secret)) = basic {
        if said.as_ref().is_some_and(|said| *said != id) {
            return Err(OAuthError::new("invalid_request", "header and form name different clients"));
        }
        return Ok(Claim { id, method: AuthMethod::ClientSecretBasic, secret: Some(secret) });
    }
    if let Some(assertion) = assertion {
        if params.get("client_assertion_type") != Some(JWT_BEARER) {
            return Err(OAuthError::client("the client_assertion_type is not known"));
        }
        let subject = Jwt::parse(assertion).and_then(|jwt| jwt.claim("sub").map(str::to_owned));
        let id = said.or(subject).ok_or_else(|| OAuthError::client("the assertion names no client"))?;
        return Ok(Claim { id, method: AuthMethod::PrivateKeyJwt, secret: None });
    }
    let id = said.ok_or_else(|| OAuthError::client("the client does not say who it is"))?;
    let method = if secret.is_some() { AuthMethod::ClientSecretPost } else { AuthMethod::None };
    Ok(Claim { id, method, secret: secret.map(str::to_owned) })
}

/// Id and secret from the `Authorization` header, each of them form-encoded before base64 (RFC 6749 section 2.3.1).
fn basic(headers: &HeaderMap) -> Result<Option<(String, String)>, OAuthError> {
    let Some(value) = headers.get(header::AUTHORIZATION) else { return Ok(None) };
    let malformed = || OAuthError::client("the Authorization header is malformed");
    let (scheme, encoded) = value.to_str().ok().and_then(|text| text.split_once(' ')).ok_or_else(malformed)?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return Err(OAuthError::client("the scheme of the Authorization header is not known"));
    }
    let bytes = STANDARD.decode(encoded.trim()).map_err(|_| malformed())?;
    let text = String::from_utf8(bytes).map_err(|_| malformed())?;
    let (id, secret) = text.split_once(':').ok_or_else(malformed)?;
    Ok(Some((decoded(id), decoded(secret))))
}

fn decoded(text: &str) -> String {
    // A string without `=` and `&` is the name of one parameter.
    let escaped = text.replace('=', "%3D").replace('&', "%26");
    form_urlencoded::parse(escaped.as_bytes()).next().map(|(name, _)| name.into_owned()).unwrap_or_default()
}

/// The client of a valid claim.
pub(crate) fn authenticate(server: &Server, claim: &Claim, params: &Params) -> Result<Client, OAuthError> {
    let client =
        server.state().clients.get(&claim.id).cloned().ok_or_else(|| OAuthError::client("the client is not known"))?;
    if !client.methods.contains(&claim.method) || !server.script.token_endpoint_auth_methods.contains(&claim.method) {
        return Err(OAuthError::client(format!("{} is not how this client authenticates", claim.method.name())));
    }
    match claim.method {
        AuthMethod::None => {}
        AuthMethod::ClientSecretBasic | AuthMethod::ClientSecretPost => {
            if client.secret.is_none() || client.secret != claim.secret {
                return Err(OAuthError::client("the secret is wrong"));
            }
            if client.secret_expires.is_some_and(|expires| expires <= server.clock.seconds()) {
                return Err(OAuthError::client("the secret has expired"));
            }
        }
        AuthMethod::PrivateKeyJwt => assertion(server, &client, params)?,
    }
    Ok(client)
}

/// Checks the assertion of a client about itself (RFC 7523 section 3).
fn assertion(server: &Server, client: &Client, params: &Params) -> Result<(), OAuthError> {
    let token = params.get("client_assertion").unwrap_or_default();
    let jwt = Jwt::parse(token).ok_or_else(|| OAuthError::client("the assertion is not a JWT"))?;
    if jwt.claim("iss") != Some(&client.id) || jwt.claim("sub") != Some(&client.id) {
        return Err(OAuthError::client("iss and sub of the assertion have to be the client"));
    }
    if !jwt.is_signed_by_any(&client.keys) {
        return Err(OAuthError::client("the assertion is not signed by a key of the client"));
    }
    let own = [server.issuer.clone(), format!("{}/", server.issuer), server.token_endpoint()];
    if !jwt.audiences().iter().any(|audience| own.iter().any(|own| own == audience)) {
        return Err(OAuthError::client("the assertion is for another audience"));
    }
    check_times(server, &jwt, MAX_ASSERTION_LIFETIME).map_err(OAuthError::client)?;
    let id = jwt.claim("jti").ok_or_else(|| OAuthError::client("the assertion has no jti"))?;
    if !server.state().is_fresh("client assertion", &format!("{} {id}", client.id)) {
        return Err(OAuthError::client("the assertion was used before"));
    }
    Ok(())
}

/// Whether a token is neither expired nor not yet valid nor valid for too long.
pub(crate) fn check_times(server: &Server, jwt: &Jwt<'_>, longest: u64) -> Result<(), &'static str> {
    /// The allowed difference between two clocks, in seconds.
    const SKEW: u64 = 5;
    let now = server.clock.seconds();
    match jwt.time("exp") {
        None => return Err("the assertion has no exp"),
        Some(expires) if expires.saturating_add(SKEW) <= now => return Err("the assertion is expired"),
        Some(expires) if expires > now + longest => return Err("the assertion is valid for too long"),
        Some(_) => {}
    }
    let early = |name: &str| jwt.time(name).is_some_and(|time| time > now + SKEW);
    if early("nbf") || early("iat") { Err("the assertion is not valid yet") } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_and_secret_are_decoded_each_for_itself() {
        for (written, read) in [("a%3Ab", "a:b"), ("a+b", "a b"), ("a=b&c", "a=b&c"), ("plain", "plain")] {
            assert_eq!(decoded(written), read);
        }
    }
}
