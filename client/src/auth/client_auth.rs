//! Client authentication at the token endpoint (RFC 6749, section 2.3; RFC 7523, section 2.2).

use jsonwebtoken::{Algorithm, EncodingKey, Header};
use reqwest::RequestBuilder;
use serde_json::json;
use url::form_urlencoded::byte_serialize;

use super::{
    credentials::{AuthMethod, ClientRegistration, Secret, now},
    error::AuthFailure,
    random,
};

const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// Lifetime of an assertion in seconds.
const ASSERTION_LIFE: u64 = 300;

/// Adds client authentication to a form and to the headers of its request.
pub(super) fn prove(
    request: RequestBuilder,
    form: &mut Vec<(&'static str, String)>,
    client: &ClientRegistration,
    algorithm: Option<&str>,
    audience: &str,
) -> Result<RequestBuilder, AuthFailure> {
    let secret = || client.secret.as_ref().map_or("", Secret::expose);
    match client.auth_method {
        // A workload may have no client ID: its assertion identifies it.
        AuthMethod::None if client.id.is_empty() => {}
        AuthMethod::None => form.push(("client_id", client.id.clone())),
        AuthMethod::ClientSecretBasic => {
            // Each part is form-encoded, so that it may contain a colon (RFC 6749, section 2.3.1).
            let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
            return Ok(request.basic_auth(encoded(&client.id), Some(encoded(secret()))));
        }
        AuthMethod::ClientSecretPost => {
            form.push(("client_id", client.id.clone()));
            form.push(("client_secret", secret().to_owned()));
        }
        AuthMethod::PrivateKeyJwt => {
            form.push(("client_id", client.id.clone()));
            form.push(("client_assertion_type", ASSERTION_TYPE.to_owned()));
            form.push(("client_assertion", assertion(client, algorithm, audience)?));
        }
    }
    Ok(request)
}

/// A signed assertion. The audience is the issuer, so that no other server accepts it.
fn assertion(client: &ClientRegistration, algorithm: Option<&str>, audience: &str) -> Result<String, AuthFailure> {
    let key = client.private_key.as_ref().ok_or_else(|| config("it is missing"))?;
    let (algorithm, key) = signing_key(key, algorithm)?;
    let now = now();
    let claims = json!({
        "iss": client.id, "sub": client.id, "aud": audience, "jti": random::text(), "iat": now, "exp": now + ASSERTION_LIFE,
    });
    jsonwebtoken::encode(&Header::new(algorithm), &claims, &key).map_err(|_| config("it cannot sign"))
}

/// The key in a PEM, and a suitable algorithm.
fn signing_key(pem: &Secret, wanted: Option<&str>) -> Result<(Algorithm, EncodingKey), AuthFailure> {
    let bytes = pem.expose().as_bytes();
    let (usual, key) = if let Ok(key) = EncodingKey::from_ec_pem(bytes) {
        (Algorithm::ES256, key)
    } else if let Ok(key) = EncodingKey::from_ed_pem(bytes) {
        (Algorithm::EdDSA, key)
    } else if let Ok(key) = EncodingKey::from_rsa_pem(bytes) {
        (Algorithm::RS256, key)
    } else {
        return Err(config("it is not a PEM of an EC, Ed25519 or RSA key"));
    };
    let algorithm = match wanted {
        Some(name) => name.parse().map_err(|_| config(&format!("`{name}` is not an algorithm")))?,
        None => usual,
    };
    Ok((algorithm, key))
}

/// Checks that a key can be used.
pub(super) fn check_key(pem: &Secret, algorithm: Option<&str>) -> Result<(), AuthFailure> {
    signing_key(pem, algorithm).map(drop)
}

fn config(problem: &str) -> AuthFailure {
    AuthFailure::Config { what: "the private key of the client".to_owned(), problem: problem.to_owned() }
}

/// The authentication method for a client with these credentials and a server with these methods.
pub(super) fn method(has_secret: bool, has_key: bool, supported: &[AuthMethod]) -> Option<AuthMethod> {
    let means = [
        (AuthMethod::PrivateKeyJwt, has_key),
        (AuthMethod::ClientSecretBasic, has_secret),
        (AuthMethod::ClientSecretPost, has_secret),
        (AuthMethod::None, !has_secret && !has_key),
    ];
    means.into_iter().find(|(method, can)| *can && supported.contains(method)).map(|(method, _)| method)
}
