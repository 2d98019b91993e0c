//! Proof of possession (RFC 9449): keys, proofs and nonces.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use http::{HeaderMap, Method};
use p256::{
    SecretKey,
    ecdsa::{Signature, SigningKey, signature::Signer},
    elliptic_curve::sec1::ToEncodedPoint,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use url::Url;

use super::{
    credentials::{Secret, now},
    random,
};

/// The header of a proof.
pub(super) const DPOP: &str = "dpop";
const NONCE: &str = "dpop-nonce";
/// Longer nonces are ignored.
const MAX_NONCE_LEN: usize = 1_024;

/// An ES256 key.
#[derive(Clone)]
pub(super) struct DpopKey {
    signing: SigningKey,
    public: Value,
}

impl std::fmt::Debug for DpopKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DpopKey").finish_non_exhaustive()
    }
}

impl DpopKey {
    /// Generates a key.
    pub(super) fn generate() -> Self {
        loop {
            // All but one in 2^32 strings of this length are valid keys.
            if let Ok(secret) = SecretKey::from_slice(&random::bytes::<32>()) {
                return Self::new(&secret);
            }
        }
    }

    fn new(secret: &SecretKey) -> Self {
        let point = secret.public_key().to_encoded_point(false);
        let part = |bytes: Option<&p256::FieldBytes>| bytes.map(|bytes| BASE64.encode(bytes)).unwrap_or_default();
        let public = json!({"kty": "EC", "crv": "P-256", "x": part(point.x()), "y": part(point.y())});
        Self { signing: SigningKey::from(secret), public }
    }

    /// Reads a stored key.
    pub(super) fn from_jwk(jwk: &Secret) -> Option<Self> {
        let jwk: Value = serde_json::from_str(jwk.expose()).ok()?;
        let private = BASE64.decode(jwk.get("d")?.as_str()?).ok()?;
        SecretKey::from_slice(&private).ok().map(|secret| Self::new(&secret))
    }

    /// The private key, for storing it.
    pub(super) fn to_jwk(&self) -> Secret {
        let mut jwk = self.public.clone();
        jwk["d"] = Value::from(BASE64.encode(self.signing.to_bytes()));
        Secret::new(jwk.to_string())
    }

    /// A proof for one request (section 4.2). Each proof has a unique id.
    pub(super) fn proof(&self, method: &Method, url: &Url, nonce: Option<&str>, token: Option<&str>) -> String {
        let header = json!({"typ": "dpop+jwt", "alg": "ES256", "jwk": self.public});
        let mut target = url.clone();
        target.set_query(None);
        target.set_fragment(None);
        let issued = now();
        let mut claims = json!({
            "jti": random::text(), "htm": method.as_str(), "htu": target.as_str(), "iat": issued,
        });
        if let Some(nonce) = nonce {
            claims["nonce"] = Value::from(nonce);
        }
        if let Some(token) = token {
            claims["ath"] = Value::from(BASE64.encode(Sha256::digest(token)));
        }
        let signed = format!("{}.{}", BASE64.encode(header.to_string()), BASE64.encode(claims.to_string()));
        let signature: Signature = self.signing.sign(signed.as_bytes());
        format!("{signed}.{}", BASE64.encode(signature.to_bytes()))
    }
}

/// The last nonce of each origin: authorization server and resource use different ones (sections 8 and 9).
#[derive(Debug, Default)]
pub(super) struct Nonces(Mutex<HashMap<String, String>>);

impl Nonces {
    /// The nonce for requests to this URL.
    pub(super) fn get(&self, url: &Url) -> Option<String> {
        self.lock().get(&url.origin().ascii_serialization()).cloned()
    }

    /// Records the nonce of a response. Returns whether it is new.
    pub(super) fn note(&self, url: &Url, headers: &HeaderMap) -> bool {
        let Some(nonce) = headers.get(NONCE).and_then(|value| value.to_str().ok()) else { return false };
        if nonce.is_empty() || nonce.len() > MAX_NONCE_LEN {
            return false;
        }
        let before = self.lock().insert(url.origin().ascii_serialization(), nonce.to_owned());
        before.as_deref() != Some(nonce)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use p256::ecdsa::{VerifyingKey, signature::Verifier};

    use super::*;

    fn parts(proof: &str) -> (Value, Value, Vec<u8>) {
        let parts: Vec<_> = proof.split('.').map(|part| BASE64.decode(part).unwrap()).collect();
        (serde_json::from_slice(&parts[0]).unwrap(), serde_json::from_slice(&parts[1]).unwrap(), parts[2].clone())
    }

    #[test]
    fn a_proof_names_its_request_and_is_signed() {
        let key = DpopKey::generate();
        let url = Url::parse("https://rs.example/mcp?secret=1#top").unwrap();
        let proof = key.proof(&Method::POST, &url, Some("n"), Some("token"));
        let (header, claims, signature) = parts(&proof);
        assert_eq!((&header["typ"], &header["alg"]), (&json!("dpop+jwt"), &json!("ES256")));
        assert!(header["jwk"].get("d").is_none());
        assert_eq!(claims["htu"], "https://rs.example/mcp");
        assert_eq!((&claims["htm"], &claims["nonce"]), (&json!("POST"), &json!("n")));
        assert_eq!(claims["ath"], BASE64.encode(Sha256::digest("token")));
        let (signed, _) = proof.rsplit_once('.').unwrap();
        let verifying = VerifyingKey::from(&key.signing);
        assert!(verifying.verify(signed.as_bytes(), &Signature::from_slice(&signature).unwrap()).is_ok());
    }

    #[test]
    fn no_two_proofs_are_the_same_and_a_stored_key_is_the_same_key() {
        let key = DpopKey::generate();
        let url = Url::parse("https://as.example/token").unwrap();
        let ids = [(); 2].map(|()| parts(&key.proof(&Method::POST, &url, None, None)).1["jti"].clone());
        assert_ne!(ids[0], ids[1]);
        let stored = DpopKey::from_jwk(&key.to_jwk()).unwrap();
        assert_eq!(stored.public, key.public);
        assert!(DpopKey::from_jwk(&Secret::new("{}")).is_none());
    }

    #[test]
    fn each_origin_has_a_nonce_of_its_own() {
        let nonces = Nonces::default();
        let url = |text: &str| Url::parse(text).unwrap();
        let headers = HeaderMap::from_iter([(NONCE.parse().unwrap(), "one".parse().unwrap())]);
        assert!(nonces.note(&url("https://as.example/token"), &headers));
        assert!(!nonces.note(&url("https://as.example/token"), &headers));
        assert_eq!(nonces.get(&url("https://as.example/other")).as_deref(), Some("one"));
        assert_eq!(nonces.get(&url("https://rs.example/mcp")), None);
    }
}
