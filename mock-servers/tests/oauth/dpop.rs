//! Proof of possession (RFC 9449), at the token endpoint and at the resource.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use mcp_workbench_mock_servers::oauth::{AuditEvent, SigningKey};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::peer::{Peer, Read, claims, read};

fn key() -> SigningKey {
    SigningKey::seeded(3, "client")
}

/// A good proof for a request, with these claims laid over it; a null takes one away.
fn proof(peer: &Peer, method: &str, url: &str, over: &Value) -> String {
    let mut claims = json!({"jti": format!("{over} {url}"), "htm": method, "htu": url, "iat": peer.clock.seconds()});
    for (name, value) in over.as_object().into_iter().flatten() {
        claims[name] = value.clone();
    }
    claims.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    key().dpop_proof(&claims)
}

async fn redeem(peer: &Peer, client: &str, proof: &str) -> Read {
    let code = peer.code(client, &[]).await;
    read(peer.redeeming(client, &code, &[]).header("dpop", proof)).await
}

async fn list(peer: &Peer, scheme: &str, token: &str, proof: Option<&str>) -> Read {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let mut request =
        peer.http.post(peer.mock.protected()).json(&body).header("authorization", format!("{scheme} {token}"));
    if let Some(proof) = proof {
        request = request.header("dpop", proof);
    }
    read(request).await
}

fn ath(token: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(token))
}

#[tokio::test]
async fn a_proof_binds_the_token_to_its_key() {
    let peer = Peer::new("dpop: { mode: optional }\n").await;
    let client = peer.public_client().await;
    let endpoint = peer.at("/token");
    let body = redeem(&peer, &client, &proof(&peer, "POST", &endpoint, &json!({}))).await.json();
    assert_eq!(body["token_type"], "DPoP");
    assert_eq!(claims(&body["access_token"])["cnf"]["jkt"], key().thumbprint());
    assert_eq!(peer.tokens(&client, &[]).await["token_type"], "Bearer");
    // A public client's refresh token is bound too.
    let refresh = body["refresh_token"].as_str().unwrap();
    let form = [("grant_type", "refresh_token"), ("client_id", client.as_str()), ("refresh_token", refresh)];
    assert_eq!(peer.form("/token", &form).await.error().1, "invalid_grant");
    let again = proof(&peer, "POST", &endpoint, &json!({"jti": "again"}));
    assert_eq!(read(peer.post("/token", &form).header("dpop", again)).await.status, 200);
}

#[tokio::test]
async fn a_proof_that_is_wrong_in_anything_is_refused() {
    let peer = Peer::new("dpop: { mode: required }\n").await;
    let client = peer.public_client().await;
    let endpoint = peer.at("/token");
    let now = peer.clock.seconds();
    for over in [
        json!({"htm": "GET"}),
        json!({"htm": null}),
        json!({"htu": peer.at("/other")}),
        json!({"htu": format!("{endpoint}?query")}),
        json!({"htu": null}),
        json!({"iat": now - 301}),
        json!({"iat": now + 301}),
        json!({"iat": null}),
        json!({"jti": null}),
        json!({"jti": ""}),
    ] {
        let answer = redeem(&peer, &client, &proof(&peer, "POST", &endpoint, &over)).await;
        assert_eq!(answer.error(), (400, "invalid_dpop_proof".to_owned()), "{over}");
    }
    let picky = Peer::new("dpop: { mode: required, algs: [RS256] }\n").await;
    let picky_client = picky.public_client().await;
    let sound = proof(&picky, "POST", &picky.at("/token"), &json!({}));
    assert_eq!(redeem(&picky, &picky_client, &sound).await.error(), (400, "invalid_dpop_proof".to_owned()));
    let good = json!({"jti": "x", "htm": "POST", "htu": endpoint, "iat": now});
    let jwk = key().public_jwk().clone();
    let mut private = jwk.clone();
    private["d"] = json!("AA");
    for header in [
        json!({"alg": "ES256", "typ": "JWT", "jwk": jwk}),
        json!({"alg": "none", "typ": "dpop+jwt", "jwk": jwk}),
        json!({"alg": "HS256", "typ": "dpop+jwt", "jwk": jwk}),
        json!({"alg": "ES384", "typ": "dpop+jwt", "jwk": jwk}),
        json!({"alg": "ES256", "typ": "dpop+jwt"}),
        json!({"alg": "ES256", "typ": "dpop+jwt", "jwk": private}),
        json!({"alg": "ES256", "typ": "dpop+jwt", "jwk": SigningKey::seeded(4, "x").public_jwk()}),
    ] {
        let answer = redeem(&peer, &client, &key().sign_with(&header, &good)).await;
        assert_eq!(answer.error(), (400, "invalid_dpop_proof".to_owned()), "{header}");
    }
    assert_eq!(redeem(&peer, &client, "no proof").await.error().1, "invalid_dpop_proof");
    let code = peer.code(&client, &[]).await;
    assert_eq!(peer.redeem(&client, &code, &[]).await.error().1, "invalid_dpop_proof");
    let proofs =
        [proof(&peer, "POST", &endpoint, &json!({"jti": "a"})), proof(&peer, "POST", &endpoint, &json!({"jti": "b"}))];
    let [one, two] = &proofs;
    let answer = read(peer.redeeming(&client, &code, &[]).header("dpop", one).header("dpop", two)).await;
    assert_eq!(answer.error().1, "invalid_dpop_proof");
    let refused = |event: &AuditEvent| matches!(event, AuditEvent::DpopRefused { at, .. } if at == "server");
    assert_eq!(peer.events().iter().filter(|event| refused(event)).count(), 20);
}

#[tokio::test]
async fn a_proof_is_good_for_once() {
    let peer = Peer::new("dpop: { mode: required }\n").await;
    let client = peer.public_client().await;
    let proof = proof(&peer, "POST", &peer.at("/token"), &json!({}));
    assert_eq!(redeem(&peer, &client, &proof).await.status, 200);
    assert_eq!(redeem(&peer, &client, &proof).await.error().1, "invalid_dpop_proof");
}

#[tokio::test]
async fn a_bound_token_needs_its_scheme_its_key_and_its_digest() {
    let peer = Peer::new("dpop: { mode: required }\n").await;
    let client = peer.public_client().await;
    let answer = redeem(&peer, &client, &proof(&peer, "POST", &peer.at("/token"), &json!({}))).await.json();
    let token = answer["access_token"].as_str().unwrap();
    let resource = peer.mock.protected().to_owned();
    let good = proof(&peer, "POST", &resource, &json!({"ath": ath(token)}));
    assert_eq!(list(&peer, "DPoP", token, Some(&good)).await.status, 200);
    let replayed = list(&peer, "DPoP", token, Some(&good)).await;
    assert_eq!(replayed.status, 401);
    assert!(replayed.header("www-authenticate").starts_with("DPoP error=\"invalid_dpop_proof\""), "{replayed:?}");
    for over in [
        json!({"ath": ath("another")}),
        json!({"jti": "no ath"}),
        json!({"ath": ath(token), "htu": peer.at("/token")}),
        json!({"ath": ath(token), "htm": "GET"}),
    ] {
        let proof = proof(&peer, "POST", &resource, &over);
        assert_eq!(list(&peer, "DPoP", token, Some(&proof)).await.status, 401, "{over}");
    }
    let fresh = proof(&peer, "POST", &resource, &json!({"ath": ath(token), "jti": "fresh"}));
    assert_eq!(list(&peer, "Bearer", token, Some(&fresh)).await.status, 401);
    assert_eq!(list(&peer, "DPoP", token, None).await.status, 401);
    let claims = json!({"jti": "s", "htm": "POST", "htu": resource, "iat": peer.clock.seconds(), "ath": ath(token)});
    let stranger = SigningKey::seeded(9, "stranger").dpop_proof(&claims);
    assert_eq!(list(&peer, "DPoP", token, Some(&stranger)).await.status, 401);
    assert!(peer.list(None).await.header("www-authenticate").starts_with("DPoP resource_metadata="));
}

#[tokio::test]
async fn both_sides_ask_for_nonces_of_their_own_that_grow_old() {
    let script = "dpop: { mode: required, server_nonce: true, resource_nonce: true, nonce_lifetime: 1m }\n";
    let peer = Peer::new(script).await;
    let client = peer.public_client().await;
    let endpoint = peer.at("/token");
    let asked = redeem(&peer, &client, &proof(&peer, "POST", &endpoint, &json!({}))).await;
    assert_eq!(asked.error(), (400, "use_dpop_nonce".to_owned()));
    let nonce = asked.header("dpop-nonce").to_owned();
    let answer = redeem(&peer, &client, &proof(&peer, "POST", &endpoint, &json!({"nonce": nonce}))).await.json();
    let token = answer["access_token"].as_str().unwrap();
    let resource = peer.mock.protected().to_owned();
    // The nonce of one is none for the other.
    let asked =
        list(&peer, "DPoP", token, Some(&proof(&peer, "POST", &resource, &json!({"ath": ath(token), "nonce": nonce}))))
            .await;
    assert_eq!(asked.status, 401);
    assert!(asked.header("www-authenticate").contains("error=\"use_dpop_nonce\""), "{asked:?}");
    let own = asked.header("dpop-nonce").to_owned();
    assert_ne!(own, nonce);
    let good = proof(&peer, "POST", &resource, &json!({"ath": ath(token), "nonce": own}));
    assert_eq!(list(&peer, "DPoP", token, Some(&good)).await.status, 200);
    peer.clock.advance(Duration::from_secs(120));
    let old = proof(&peer, "POST", &endpoint, &json!({"nonce": nonce, "jti": "old"}));
    assert_eq!(redeem(&peer, &client, &old).await.error().1, "use_dpop_nonce");
}

#[tokio::test]
async fn a_code_can_be_bound_to_a_key_beforehand() {
    let peer = Peer::new("dpop: { mode: optional }\n").await;
    let client = peer.public_client().await;
    let code = peer.code(&client, &[("dpop_jkt", SigningKey::seeded(9, "stranger").thumbprint())]).await;
    let proof = proof(&peer, "POST", &peer.at("/token"), &json!({}));
    let answer = read(peer.redeeming(&client, &code, &[]).header("dpop", proof)).await;
    assert_eq!(answer.error().1, "invalid_grant");
}
