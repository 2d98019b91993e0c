//! How a client proves who it is at the token endpoint (RFC 6749, section 2.3; RFC 7523, section 2.2).

use jsonwebtoken::{Algorithm, EncodingKey, Header};
use reqwest::RequestBuilder;
use serde_json::json;
use url::form_urlencoded::byte_serialize;

use super::{
    credentials::{AuthMethod, ClientRegistration, Secret},
    error::AuthFailure,
    random, token,
};

const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// How long an assertion is good for, in seconds.
const ASSERTION_LIFE: u64 = 300;

/// Adds to a form, and to the headers of its request, what proves who the client is.
pub(super) fn prove(
    request: RequestBuilder,
    form: &mut Vec<(&'static str, String)>,
    client: &ClientRegistration,
    algorithm: Option<&str>,
    audience: &str,
) -> Result<RequestBuilder, AuthFailure> {
    let secret = || client.secret.as_ref().map_or("", Secret::expose);
    match client.auth_method {
        // A workload need not have an ID: its assertion says who it is.
        AuthMethod::None if client.id.is_empty() => {}
        AuthMethod::None => form.push(("client_id", client.id.clone())),
        AuthMethod::ClientSecretBasic => {
            // Each part is form-encoded for itself, so that a colon in one of them does no harm (RFC 6749, section 2.3.1).
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

/// What the client signs about itself. The audience is the issuer, so that no other server can use it.
fn assertion(client: &ClientRegistration, algorithm: Option<&str>, audience: &str) -> Result<String, AuthFailure> {
    let key = client.private_key.as_ref().ok_or_else(|| config("there is none"))?;
    let (algorithm, key) = signing_key(key, algorithm)?;
    let now = token::now();
    let claims = json!({
        "iss": client.id, "sub": client.id, "aud": audience, "jti": random::text(), "iat": now, "exp": now + ASSERTION_LIFE,
    });
    jsonwebtoken::encode(&Header::new(algorithm), &claims, &key).map_err(|_| config("it signs nothing"))
}

/// The key in a PEM, and the algorithm that fits it.
fn signing_key(pem: &Secret, wanted: Option<&str>) -> Result<(Algorithm, EncodingKey), AuthFailure> {
    let bytes = pem.expose().as_bytes();
    let (usual, key) = if let Ok(key) = EncodingKey::from_ec_pem(bytes) {
        (Algorithm::ES256, key)
    } else if let Ok(key) = EncodingKey::from_ed_pem(bytes) {
        (Algorithm::EdDSA, key)
    } else if let Ok(key) = EncodingKey::from_rsa_pem(bytes) {
        (Algorithm::RS256, key)
    } else {
        return Err(config("it is no PEM of an EC, an Ed25519 or an RSA key"));
    };
    let algorithm = match wanted {
        Some(name) => name.parse().map_err(|_| config(&format!("`{name}` is no algorithm")))?,
        None => usual,
    };
    Ok((algorithm, key))
}

/// Whether a key can be used at all.
pub(super) fn check_key(pem: &Secret, algorithm: Option<&str>) -> Result<(), AuthFailure> {
    signing_key(pem, algorithm).map(drop)
}

fn config(problem: &str) -> AuthFailure {
    AuthFailure::Config { what: "the private key of the client".to_owned(), problem: problem.to_owned() }
}

/// The way in which a client that has these means authenticates at a server that takes those.
pub(super) fn method(has_secret: bool, has_key: bool, taken: &[AuthMethod]) -> Option<AuthMethod> {
    let means = [
        (AuthMethod::PrivateKeyJwt, has_key),
        (AuthMethod::ClientSecretBasic, has_secret),
        (AuthMethod::ClientSecretPost, has_secret),
        (AuthMethod::None, !has_secret && !has_key),
    ];
    means.into_iter().find(|(method, can)| *can && taken.contains(method)).map(|(method, _)| method)
}
