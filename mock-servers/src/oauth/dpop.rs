//! Verification of DPoP proofs (RFC 9449).

use hmac::{Hmac, KeyInit as _, Mac as _};
use http::HeaderMap;
use serde_json::Value;
use sha2::Sha256;
use url::Url;

use super::{
    jwt::{Jwt, digest, public_key, thumbprint},
    server::Server,
};
use crate::faults::Deviation;

/// The verifier of a proof. Each has its own nonces and its own record of used proofs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Checker {
    /// The token endpoint.
    Server,
    /// The protected resource.
    Resource,
}

impl Checker {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Resource => "resource",
        }
    }
}

/// The request that a proof has to match.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expected<'a> {
    pub(crate) checker: Checker,
    pub(crate) method: &'a str,
    pub(crate) url: &'a str,
    /// The access token of the request, at the resource.
    pub(crate) token: Option<&'a str>,
}

/// Error of a proof.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProofError {
    /// It does not match the request.
    Invalid(&'static str),
    /// Its nonce is missing or expired; this is the current one.
    Nonce(String),
}

/// The proof of a request: at most one (section 4.3, check 1).
pub(crate) fn proof(headers: &HeaderMap) -> Result<Option<&str>, ProofError> {
    let mut proofs = headers.get_all("dpop").iter();
    match (proofs.next(), proofs.next()) {
        (None, _) => Ok(None),
        (Some(_), Some(_)) => Err(ProofError::Invalid("there is more than one DPoP header")),
        (Some(proof), None) => proof.to_str().map(Some).map_err(|_| ProofError::Invalid("the proof is not a JWT")),
    }
}

/// The thumbprint of the key that a proof shows (section 4.3, in its order).
pub(crate) fn check(server: &Server, proof: &str, expected: Expected<'_>) -> Result<String, ProofError> {
    let jwt = Jwt::parse(proof).ok_or(ProofError::Invalid("the proof is not a JWT"))?;
    let key = signed(server, &jwt)?;
    fits(server, &jwt, expected)?;
    let id = jwt.claim("jti").filter(|id| !id.is_empty()).ok_or(ProofError::Invalid("jti is missing"))?;
    let kind = format!("proof at the {}", expected.checker.name());
    let fresh = server.state().is_fresh(&kind, &format!("{key} {id}"));
    if !fresh {
        return Err(ProofError::Invalid("the proof was used before"));
    }
    nonce(server, &jwt, expected.checker)?;
    Ok(key)
}

fn signed(server: &Server, jwt: &Jwt<'_>) -> Result<String, ProofError> {
    if jwt.header("typ") != Some("dpop+jwt") {
        return Err(ProofError::Invalid("typ has to be dpop+jwt"));
    }
    if !jwt.algorithm().is_some_and(|algorithm| server.script.dpop.algs.iter().any(|known| known == algorithm)) {
        return Err(ProofError::Invalid("alg is not supported"));
    }
    let jwk = jwt.header.get("jwk").ok_or(ProofError::Invalid("jwk is missing"))?;
    let key = public_key(jwk).ok_or(ProofError::Invalid("jwk is not a public key"))?;
    if !jwt.is_signed_by(&key) {
        return Err(ProofError::Invalid("the signature is not by the key in jwk"));
    }
    thumbprint(jwk).ok_or(ProofError::Invalid("jwk is not a public key"))
}

fn fits(server: &Server, jwt: &Jwt<'_>, expected: Expected<'_>) -> Result<(), ProofError> {
    if jwt.claim("htm") != Some(expected.method) {
        return Err(ProofError::Invalid("htm is not the method of the request"));
    }
    if !jwt.claim("htu").is_some_and(|htu| is_same_target(htu, expected.url)) {
        return Err(ProofError::Invalid("htu is not the URL of the request"));
    }
    let window = server.script.dpop.window.0.as_secs();
    if jwt.time("iat").is_none_or(|issued| issued.abs_diff(server.clock.seconds()) > window) {
        return Err(ProofError::Invalid("iat is missing or too far from now"));
    }
    if let Some(token) = expected.token
        && jwt.claim("ath") != Some(digest(token.as_bytes()).as_str())
    {
        return Err(ProofError::Invalid("ath is not the digest of the access token"));
    }
    Ok(())
}

fn nonce(server: &Server, jwt: &Jwt<'_>, checker: Checker) -> Result<(), ProofError> {
    let (wanted, endless) = match checker {
        Checker::Server => (server.script.dpop.server_nonce, Deviation::EndlessServerNonce),
        Checker::Resource => (server.script.dpop.resource_nonce, Deviation::EndlessResourceNonce),
    };
    if server.faults.deviates(endless) {
        return Err(ProofError::Nonce(server.state().secret()));
    }
    let said = jwt.claims.get("nonce").and_then(Value::as_str);
    let [current, previous] = nonces(server, checker);
    if !wanted || said == Some(&current) || said == Some(&previous) { Ok(()) } else { Err(ProofError::Nonce(current)) }
}

/// The current and the previous nonce, so that a new nonce stays valid for at least one period.
pub(crate) fn nonces(server: &Server, checker: Checker) -> [String; 2] {
    let lifetime = server.script.dpop.nonce_lifetime.0.as_millis().max(1);
    let window = server.clock.now().as_millis() / lifetime;
    [window, window.wrapping_sub(1)].map(|window| {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&server.seed.to_be_bytes()).expect("a key of any length is allowed");
        mac.update(format!("nonce {} {window}", checker.name()).as_bytes());
        digest(&mac.finalize().into_bytes())
    })
}

/// Whether `htu` names the URL of the request, without query and fragment, after normalization (section 4.3, check 9).
fn is_same_target(htu: &str, url: &str) -> bool {
    if htu.contains(['?', '#']) {
        return false;
    }
    let normal = |text: &str| {
        let mut url = Url::parse(text).ok()?;
        url.set_query(None);
        url.set_fragment(None);
        Some(url)
    };
    normal(htu).is_some_and(|htu| Some(htu) == normal(url))
}
