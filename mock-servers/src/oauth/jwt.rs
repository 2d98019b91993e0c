//! Parsing and signature verification of tokens in compact form (RFC 7515).
//!
//! The caller verifies the claims. Tokens and keys come from clients, so an invalid one is an error and never a panic.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, DecodingKey, jwk::Jwk};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// The asymmetric algorithms that can be verified; `none` and the symmetric ones are never among them.
pub(crate) const ALGORITHMS: [&str; 9] =
    ["ES256", "ES384", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "EdDSA"];

/// The longest token, in bytes.
const MAX_LEN: usize = 16 * 1024;

/// A parsed token. Its signature is not verified yet.
#[derive(Debug)]
pub(crate) struct Jwt<'a> {
    pub(crate) header: Map<String, Value>,
    pub(crate) claims: Map<String, Value>,
    signed: &'a str,
    signature: &'a str,
}

impl<'a> Jwt<'a> {
    pub(crate) fn parse(token: &'a str) -> Option<Self> {
        if token.len() > MAX_LEN {
            return None;
        }
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        Some(Self { header: object(header)?, claims: object(claims)?, signed, signature })
    }

    /// The string under this name in the header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.header.get(name)?.as_str()
    }

    /// The string under this name in the claims.
    pub(crate) fn claim(&self, name: &str) -> Option<&str> {
        self.claims.get(name)?.as_str()
    }

    /// The time under this name in the claims, in seconds since the Unix epoch.
    pub(crate) fn time(&self, name: &str) -> Option<u64> {
        let value = self.claims.get(name)?;
        value.as_u64().or_else(|| value.as_f64().filter(|time| *time >= 0.0).map(|time| time as u64))
    }

    /// The audiences: one string, or an array of them (RFC 7519 section 4.1.3).
    pub(crate) fn audiences(&self) -> Vec<&str> {
        match self.claims.get("aud") {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        }
    }

    /// The algorithm, if it can be verified.
    pub(crate) fn algorithm(&self) -> Option<&str> {
        self.header("alg").filter(|name| ALGORITHMS.contains(name))
    }

    /// Whether the signature is valid for this key.
    pub(crate) fn is_signed_by(&self, key: &DecodingKey) -> bool {
        let Some(algorithm) = self.algorithm().and_then(|name| name.parse::<Algorithm>().ok()) else { return false };
        if algorithm.family() != key.family() {
            return false;
        }
        jsonwebtoken::crypto::verify(self.signature, self.signed.as_bytes(), key, algorithm).unwrap_or(false)
    }

    /// Whether the signature is valid for one of these keys.
    pub(crate) fn is_signed_by_any(&self, keys: &[DecodingKey]) -> bool {
        keys.iter().any(|key| self.is_signed_by(key))
    }
}

fn object(part: &str) -> Option<Map<String, Value>> {
    let bytes = URL_SAFE_NO_PAD.decode(part).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// The key of a JWK; `None` if it is private, symmetric or unknown.
pub(crate) fn public_key(jwk: &Value) -> Option<DecodingKey> {
    if !matches!(jwk.get("kty")?.as_str()?, "EC" | "RSA" | "OKP") || jwk.get("d").is_some() {
        return None;
    }
    DecodingKey::from_jwk(&serde_json::from_value::<Jwk>(jwk.clone()).ok()?).ok()
}

/// The keys of a JWK set. Unknown ones are skipped, as RFC 7517 section 5 requires.
pub(crate) fn key_set(set: &Value) -> Vec<DecodingKey> {
    let keys = set.get("keys").and_then(Value::as_array);
    keys.into_iter().flatten().take(32).filter_map(public_key).collect()
}

/// The public key in a PEM text: RSA, elliptic curve or Ed25519.
pub(crate) fn pem(text: &str) -> Option<DecodingKey> {
    let bytes = text.as_bytes();
    let readers = [DecodingKey::from_ec_pem, DecodingKey::from_rsa_pem, DecodingKey::from_ed_pem];
    readers.iter().find_map(|read| read(bytes).ok())
}

/// The thumbprint of a public key (RFC 7638 section 3), from its required members.
pub(crate) fn thumbprint(jwk: &Value) -> Option<String> {
    let members: &[&str] = match jwk.get("kty")?.as_str()? {
        "EC" => &["crv", "kty", "x", "y"],
        "OKP" => &["crv", "kty", "x"],
        "RSA" => &["e", "kty", "n"],
        _ => return None,
    };
    let mut required = Map::new();
    for member in members {
        required.insert((*member).to_owned(), Value::from(jwk.get(member)?.as_str()?));
    }
    Some(digest(Value::Object(required).to_string().as_bytes()))
}

/// The SHA-256 digest of these bytes in base64url.
pub(crate) fn digest(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_thumbprint_is_that_of_the_standard_s_example() {
        // RFC 7638 section 3.1.
        let n = "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw";
        let jwk = json!({"kty": "RSA", "n": n, "e": "AQAB", "alg": "RS256", "kid": "2011-04-29"});
        assert_eq!(thumbprint(&jwk).unwrap(), "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
    }

    #[test]
    fn a_hostile_key_or_token_is_refused_without_a_panic() {
        for jwk in [
            json!({"kty": "OKP", "crv": "P-256", "x": "AA"}),
            json!({"kty": "EC", "crv": "Ed25519", "x": "AA", "y": "AA"}),
            json!({"kty": "EC", "crv": "P-256", "x": "AA", "y": "!!"}),
            json!({"kty": "oct", "k": "c2VjcmV0"}),
            json!({"kty": "RSA", "n": "", "e": ""}),
            json!([]),
        ] {
            let token = "eyJhbGciOiJFUzI1NiJ9.e30.AAAA";
            let verified = public_key(&jwk).is_some_and(|key| Jwt::parse(token).unwrap().is_signed_by(&key));
            assert!(!verified, "{jwk}");
            thumbprint(&jwk);
        }
        for token in ["", ".", "..", "a.b.c", "e30.e30", "\u{fffd}.\u{fffd}.\u{fffd}"] {
            assert!(Jwt::parse(token).is_none_or(|token| token.algorithm().is_none()), "{token}");
        }
    }
}
