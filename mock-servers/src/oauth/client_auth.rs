//! Who a client is, at the token endpoint and its siblings (RFC 6749 section 2.3, RFC 7523 section 2.2).

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, header};
use url::form_urlencoded;

use super::{answer::Refusal, jwt::Jwt, params::Params, script::AuthMethod, server::Server, state::Client};

const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// How far in the future an assertion may expire.
const LONGEST_ASSERTION: u64 = 3_600;

/// What a client says about itself.
#[derive(Debug)]
pub(crate) struct Claim {
    pub(crate) id: String,
    pub(crate) method: AuthMethod,
    secret: Option<String>,
}

/// Who a request claims to come from, and how it wants to prove it.
pub(crate) fn claim(headers: &HeaderMap, params: &Params) -> Result<Claim, Refusal> {
    let basic = basic(headers)?;
    let assertion = params.get("client_assertion");
    let secret = params.get("client_secret");
    if [basic.is_some(), assertion.is_some(), secret.is_some()].iter().filter(|used| **used).count() > 1 {
        return Err(Refusal::new("invalid_request", "the client authenticates in more than one way"));
    }
    let said = params.get("client_id").map(str::to_owned);
    if let Some((id, secret)) = basic {
        if said.as_ref().is_some_and(|said| *said != id) {
            return Err(Refusal::new("invalid_request", "header and form name different clients"));
        }
        return Ok(Claim { id, method: AuthMethod::ClientSecretBasic, secret: Some(secret) });
    }
    if let Some(assertion) = assertion {
        if params.get("client_assertion_type") != Some(JWT_BEARER) {
            return Err(Refusal::client("the client_assertion_type is not known"));
        }
        let subject = Jwt::parse(assertion).and_then(|jwt| jwt.claim("sub").map(str::to_owned));
        let id = said.or(subject).ok_or_else(|| Refusal::client("the assertion names no client"))?;
        return Ok(Claim { id, method: AuthMethod::PrivateKeyJwt, secret: None });
    }
    let id = said.ok_or_else(|| Refusal::client("the client does not say who it is"))?;
    let method = if secret.is_some() { AuthMethod::ClientSecretPost } else { AuthMethod::None };
    Ok(Claim { id, method, secret: secret.map(str::to_owned) })
}

/// Id and secret from the `Authorization` header, each of them form-encoded before base64 (RFC 6749 section 2.3.1).
fn basic(headers: &HeaderMap) -> Result<Option<(String, String)>, Refusal> {
    let Some(value) = headers.get(header::AUTHORIZATION) else { return Ok(None) };
    let malformed = || Refusal::client("the Authorization header is malformed");
    let (scheme, encoded) = value.to_str().ok().and_then(|text| text.split_once(' ')).ok_or_else(malformed)?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return Err(Refusal::client("the scheme of the Authorization header is not known"));
    }
    let bytes = STANDARD.decode(encoded.trim()).map_err(|_| malformed())?;
    let text = String::from_utf8(bytes).map_err(|_| malformed())?;
    let (id, secret) = text.split_once(':').ok_or_else(malformed)?;
    Ok(Some((decoded(id), decoded(secret))))
}

fn decoded(text: &str) -> String {
    // A text without `=` and `&` is the name of one parameter.
    let escaped = text.replace('=', "%3D").replace('&', "%26");
    form_urlencoded::parse(escaped.as_bytes()).next().map(|(name, _)| name.into_owned()).unwrap_or_default()
}

/// The client that a claim is true of.
pub(crate) fn authenticate(server: &Server, claim: &Claim, params: &Params) -> Result<Client, Refusal> {
    let client =
        server.state().clients.get(&claim.id).cloned().ok_or_else(|| Refusal::client("the client is not known"))?;
    if !client.methods.contains(&claim.method) || !server.script.token_endpoint_auth_methods.contains(&claim.method) {
        return Err(Refusal::client(format!("{} is not how this client authenticates", claim.method.name())));
    }
    match claim.method {
        AuthMethod::None => {}
        AuthMethod::ClientSecretBasic | AuthMethod::ClientSecretPost => {
            if client.secret.is_none() || client.secret != claim.secret {
                return Err(Refusal::client("the secret is wrong"));
            }
            if client.secret_expires.is_some_and(|expires| expires <= server.clock.seconds()) {
                return Err(Refusal::client("the secret has expired"));
            }
        }
        AuthMethod::PrivateKeyJwt => assertion(server, &client, params)?,
    }
    Ok(client)
}

/// Checks the assertion of a client about itself (RFC 7523 section 3).
fn assertion(server: &Server, client: &Client, params: &Params) -> Result<(), Refusal> {
    let token = params.get("client_assertion").unwrap_or_default();
    let jwt = Jwt::parse(token).ok_or_else(|| Refusal::client("the assertion is no JWT"))?;
    if jwt.claim("iss") != Some(&client.id) || jwt.claim("sub") != Some(&client.id) {
        return Err(Refusal::client("iss and sub of the assertion have to be the client"));
    }
    if !jwt.is_signed_by_any(&client.keys) {
        return Err(Refusal::client("the assertion is not signed by a key of the client"));
    }
    let own = [server.issuer.clone(), format!("{}/", server.issuer), server.token_endpoint()];
    if !jwt.audiences().iter().any(|audience| own.iter().any(|own| own == audience)) {
        return Err(Refusal::client("the assertion is meant for somebody else"));
    }
    check_times(server, &jwt, LONGEST_ASSERTION).map_err(Refusal::client)?;
    let id = jwt.claim("jti").ok_or_else(|| Refusal::client("the assertion has no jti"))?;
    if !server.state().is_fresh("client assertion", &format!("{} {id}", client.id)) {
        return Err(Refusal::client("the assertion was used before"));
    }
    Ok(())
}

/// Whether a token is neither expired nor not yet valid nor valid for too long.
pub(crate) fn check_times(server: &Server, jwt: &Jwt<'_>, longest: u64) -> Result<(), &'static str> {
    /// How far two clocks may be apart.
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
