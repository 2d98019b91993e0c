//! A key pair that signs tokens: the authorization server's own, an identity provider's, or a client's in a test.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey};
use p256::{
    SecretKey,
    elliptic_curve::sec1::ToEncodedPoint,
    pkcs8::{EncodePrivateKey, LineEnding},
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::jwt::{public_key, thumbprint};

/// An ES256 key pair derived from a seed and a label. Signatures are deterministic (RFC 6979), so a run can be repeated
/// byte by byte. For tests only, because the secret can be guessed.
#[derive(Clone)]
pub struct SigningKey {
    encoding: EncodingKey,
    decoding: DecodingKey,
    pkcs8: String,
    jwk: Value,
    kid: String,
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SigningKey").field("kid", &self.kid).finish_non_exhaustive()
    }
}

impl SigningKey {
    /// The key of this seed and label.
    #[must_use]
    pub fn seeded(seed: u64, label: &str) -> Self {
        let secret = (0_u32..)
            .find_map(|attempt| {
                let mut digest = Sha256::new();
                digest.update(seed.to_be_bytes());
                digest.update(attempt.to_be_bytes());
                digest.update(label);
                SecretKey::from_slice(&digest.finalize()).ok()
            })
            .expect("all but one in 2^32 digests are below the order of the curve");
        Self::from_secret(&secret)
    }

    fn from_secret(secret: &SecretKey) -> Self {
        let point = secret.public_key().to_encoded_point(false);
        let coordinate =
            |part: Option<&p256::FieldBytes>| part.map(|bytes| URL_SAFE_NO_PAD.encode(bytes)).unwrap_or_default();
        let bare = json!({"kty": "EC", "crv": "P-256", "x": coordinate(point.x()), "y": coordinate(point.y())});
        let kid = thumbprint(&bare).expect("the key has every member that is asked for");
        let der = secret.to_pkcs8_der().expect("a valid key can be written down");
        let mut jwk = bare;
        for (name, value) in [("alg", "ES256"), ("use", "sig"), ("kid", kid.as_str())] {
            jwk[name] = Value::from(value);
        }
        Self {
            encoding: EncodingKey::from_ec_der(der.as_bytes()),
            decoding: public_key(&jwk).expect("a key that was just made is understood"),
            pkcs8: der.to_pem("PRIVATE KEY", LineEnding::LF).map(|pem| pem.to_string()).unwrap_or_default(),
            jwk,
            kid,
        }
    }

    /// The public key as a JWK with its `kid`, which is its thumbprint (RFC 7638).
    #[must_use]
    pub fn public_jwk(&self) -> &Value {
        &self.jwk
    }

    /// The thumbprint of the public key (RFC 7638), as in `cnf.jkt` (RFC 9449 section 6.1).
    #[must_use]
    pub fn thumbprint(&self) -> &str {
        &self.kid
    }

    /// The private key in PEM (PKCS #8), for a client that is configured with it.
    #[must_use]
    pub fn private_pem(&self) -> &str {
        &self.pkcs8
    }

    /// Signs claims with a header of this `typ` and the `kid` of the key.
    #[must_use]
    pub fn sign(&self, typ: &str, claims: &Value) -> String {
        self.sign_with(&json!({"alg": "ES256", "typ": typ, "kid": self.kid}), claims)
    }

    /// Signs claims with exactly this header.
    #[must_use]
    pub fn sign_with(&self, header: &Value, claims: &Value) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(header), part(claims));
        let signature = jsonwebtoken::crypto::sign(signed.as_bytes(), &self.encoding, Algorithm::ES256)
            .expect("the key was made for this algorithm");
        format!("{signed}.{signature}")
    }

    /// A DPoP proof (RFC 9449 section 4.2) for one request. `claims` replace `jti`, `htm`, `htu` and `iat`.
    #[must_use]
    pub fn dpop_proof(&self, claims: &Value) -> String {
        let jwk: serde_json::Map<String, Value> =
            ["kty", "crv", "x", "y"].iter().map(|name| ((*name).to_owned(), self.jwk[*name].clone())).collect();
        self.sign_with(&json!({"alg": "ES256", "typ": "dpop+jwt", "jwk": jwk}), claims)
    }

    pub(crate) fn decoding(&self) -> &DecodingKey {
        &self.decoding
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oauth::jwt::Jwt;

    #[test]
    fn the_same_seed_signs_the_same_and_another_does_not() {
        let claims = json!({"sub": "somebody"});
        let token = SigningKey::seeded(7, "a").sign("JWT", &claims);
        assert_eq!(token, SigningKey::seeded(7, "a").sign("JWT", &claims));
        assert!(Jwt::parse(&token).unwrap().is_signed_by(SigningKey::seeded(7, "a").decoding()));
        for other in [SigningKey::seeded(8, "a"), SigningKey::seeded(7, "b")] {
            assert!(!Jwt::parse(&token).unwrap().is_signed_by(other.decoding()));
        }
    }
}
