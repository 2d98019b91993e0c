//! What the client signs: assertions (RFC 7523) and proofs of possession (RFC 9449).

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use p256::{
    SecretKey,
    ecdsa::{Signature, SigningKey, signature::Signer as _},
    elliptic_curve::sec1::ToEncodedPoint as _,
    pkcs8::DecodePrivateKey as _,
};
use reqwest::{Request, Response, Url};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::OAuth;
use crate::client::defect::Defect;

const NONCE: &str = "dpop-nonce";

/// The key of the proofs, and the last nonce of each origin.
pub(super) struct Proofs {
    key: SecretKey,
    nonces: Mutex<BTreeMap<String, String>>,
}

impl Proofs {
    /// Makes a key of a text that differs for each connection.
    pub(super) fn new(seed: &str) -> Self {
        let key = SecretKey::from_slice(&Sha256::digest(seed)).expect("nearly every number is a key");
        Self { key, nonces: Mutex::default() }
    }
}

impl OAuth {
    /// Adds a proof to a request, at the resource with the token.
    pub(super) fn prove(&self, request: &mut Request, token: Option<&str>) {
        let origin = request.url().origin().ascii_serialization();
        let nonce = self.proofs.nonces.lock().unwrap_or_else(PoisonError::into_inner).get(&origin).cloned();
        let is_repeated = self.flaw.is(Defect::RepeatsProofs) && token.is_some();
        let id = if is_repeated { "proof".to_owned() } else { self.random() };
        let mut claims =
            json!({ "jti": id, "htm": request.method().as_str(), "htu": target(request.url()), "iat": now() });
        if let Some(nonce) = nonce.filter(|_| !self.flaw.is(Defect::IgnoresNonces)) {
            claims["nonce"] = nonce.into();
        }
        if let Some(token) = token.filter(|_| !self.flaw.is(Defect::OmitsTokenOfProofs)) {
            claims["ath"] = URL_SAFE_NO_PAD.encode(Sha256::digest(token)).into();
        }
        let point = self.proofs.key.public_key().to_encoded_point(false);
        let [x, y] = [point.x(), point.y()].map(|part| URL_SAFE_NO_PAD.encode(part.expect("the point has both")));
        let public = json!({ "kty": "EC", "crv": "P-256", "x": x, "y": y });
        let proof = signed(&self.proofs.key, &json!({ "typ": "dpop+jwt", "alg": "ES256", "jwk": public }), &claims);
        if let Ok(proof) = proof.parse() {
            request.headers_mut().insert("dpop", proof);
        }
    }

    /// Remembers the nonce of a response; returns whether the request needs it.
    pub(super) fn asks_for_nonce(&self, response: &Response) -> bool {
        let nonce = response.headers().get(NONCE).and_then(|value| value.to_str().ok());
        let Some(nonce) = nonce.filter(|_| !self.flaw.is(Defect::IgnoresNonces)) else { return false };
        let mut nonces = self.proofs.nonces.lock().unwrap_or_else(PoisonError::into_inner);
        let before = nonces.insert(response.url().origin().ascii_serialization(), nonce.to_owned());
        matches!(response.status().as_u16(), 400 | 401) && before.as_deref() != Some(nonce)
    }

    /// The assertion of a client with a private key.
    pub(super) fn assertion(&self, client: &str, audience: &str) -> Option<String> {
        let key = SecretKey::from_pkcs8_pem(self.context["private_key_pem"].as_str()?).ok()?;
        let audience = if self.flaw.is(Defect::SignsForAnotherServer) { "https://another.example" } else { audience };
        let claims = json!({
            "iss": client, "sub": client, "aud": audience, "jti": self.random(), "iat": now(), "exp": now() + 60,
        });
        Some(signed(&key, &json!({ "typ": "JWT", "alg": "ES256" }), &claims))
    }
}

/// A signed token (RFC 7515, section 7.1).
fn signed(key: &SecretKey, header: &Value, claims: &Value) -> String {
    let text = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string())).join(".");
    let signature: Signature = SigningKey::from(key).sign(text.as_bytes());
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature.to_bytes()))
}

/// The URL without query and fragment.
fn target(url: &Url) -> String {
    url.as_str().split(['?', '#']).next().unwrap_or_default().to_owned()
}

fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_secs()
}
