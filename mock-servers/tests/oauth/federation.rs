//! Assertions of others: workload identities, and the enterprise's identity provider.

use std::time::Duration;

use mcp_workbench_mock_servers::oauth::{AuditEvent, OAuthMock, OAuthOptions, SigningKey};
use serde_json::{Value, json};

use crate::peer::{Peer, Read, claims, script};

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const WORKLOAD: &str = "clients: [{ id: workload, grant_types: ['urn:ietf:params:oauth:grant-type:jwt-bearer'] }]\n\
    trusted_issuers: [{ issuer: 'https://idp.example', subjects: [pod-1], scopes: [read] }]\n";

async fn present(peer: &Peer, assertion: &str, more: &[(&str, &str)]) -> Read {
    let mut form = vec![("grant_type", JWT_BEARER), ("client_id", "workload"), ("assertion", assertion)];
    form.extend(more);
    peer.form("/token", &form).await
}

#[tokio::test]
async fn a_workload_gets_a_token_for_the_assertion_of_its_issuer() {
    let peer = Peer::new(WORKLOAD).await;
    let now = peer.clock.seconds();
    let assert = |over: Value| {
        let mut claims = json!({"sub": "pod-1", "aud": peer.mock.issuer(), "iat": now, "exp": now + 60});
        claims.as_object_mut().unwrap().extend(over.as_object().unwrap().clone());
        peer.mock.assertion("https://idp.example", claims).unwrap()
    };
    let good = present(&peer, &assert(json!({})), &[("scope", "read")]).await;
    assert_eq!(good.status, 200, "{good:?}");
    let body = good.json();
    assert_eq!((&body["scope"], body.get("refresh_token")), (&json!("read"), None));
    assert_eq!(claims(&body["access_token"])["sub"], "pod-1");
    assert_eq!(peer.list_with(&body["access_token"]).await.status, 200);
    for over in [
        json!({"sub": "pod-2"}),
        json!({"sub": null}),
        json!({"aud": "https://wrong.example"}),
        json!({"exp": now - 60}),
        json!({"iss": "https://stranger.example"}),
    ] {
        assert_eq!(
            present(&peer, &assert(over.clone()), &[]).await.error(),
            (400, "invalid_grant".to_owned()),
            "{over}"
        );
    }
    assert_eq!(present(&peer, &assert(json!({})), &[("scope", "admin")]).await.error().1, "invalid_scope");
    assert_eq!(present(&peer, "nonsense", &[]).await.error().1, "invalid_grant");
    assert_eq!(present(&peer, "", &[]).await.error().1, "invalid_request");
    let once = assert(json!({"jti": "once"}));
    assert_eq!(present(&peer, &once, &[]).await.status, 200);
    assert_eq!(present(&peer, &once, &[]).await.error().1, "invalid_grant");
    let forged = SigningKey::seeded(1, "forger").sign(
        "JWT",
        &json!({"iss": "https://idp.example", "sub": "pod-1", "aud": peer.mock.issuer(), "exp": now + 60}),
    );
    assert_eq!(present(&peer, &forged, &[]).await.error().1, "invalid_grant");
}

#[tokio::test]
async fn a_client_without_assertions_gets_an_error() {
    let peer = Peer::new(&format!("{WORKLOAD}registration: {{}}\n")).await;
    let client = peer.public_client().await;
    let form = [("grant_type", JWT_BEARER), ("client_id", client.as_str()), ("assertion", "x")];
    assert_eq!(peer.form("/token", &form).await.error().1, "unauthorized_client");
}

const ENTERPRISE: &str = "identity_provider: { client_id: idp-client, server_client_id: app, allowed_scopes: [read] }\n\
    clients: [{ id: app, secret: s, grant_types: ['urn:ietf:params:oauth:grant-type:jwt-bearer'] }]\n";

/// The key of the identity provider of every peer, which follows from its seed.
fn provider_key() -> SigningKey {
    SigningKey::seeded(7, "identity provider")
}

async fn exchange(peer: &Peer, over: &[(&str, &str)]) -> Read {
    let (token, resource) = (peer.mock.id_token().unwrap(), peer.mock.protected().to_owned());
    let mut form = vec![
        ("grant_type", EXCHANGE),
        ("client_id", "idp-client"),
        ("requested_token_type", "urn:ietf:params:oauth:token-type:id-jag"),
        ("subject_token_type", "urn:ietf:params:oauth:token-type:id_token"),
        ("subject_token", token.as_str()),
        ("audience", peer.mock.issuer()),
        ("resource", resource.as_str()),
        ("scope", "read admin"),
    ];
    for (name, value) in over {
        form.retain(|(key, _)| key != name);
        form.push((name, value));
    }
    peer.form("/idp/token", &form).await
}

async fn redeem(peer: &Peer, grant: &str, secret: &str) -> Read {
    let form = [("grant_type", JWT_BEARER), ("client_id", "app"), ("client_secret", secret), ("assertion", grant)];
    peer.form("/token", &form).await
}

#[tokio::test]
async fn the_enterprise_grants_access_without_a_browser() {
    let peer = Peer::new(ENTERPRISE).await;
    let metadata = peer.get("/idp/.well-known/openid-configuration").await.json();
    assert_eq!(
        (&metadata["issuer"], &metadata["token_endpoint"]),
        (&json!(peer.at("/idp")), &json!(peer.at("/idp/token")))
    );
    let answer = exchange(&peer, &[]).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let body = answer.json();
    assert_eq!((&body["token_type"], &body["scope"]), (&json!("N_A"), &json!("read")));
    assert_eq!(body["issued_token_type"], "urn:ietf:params:oauth:token-type:id-jag");
    let grant = body["access_token"].as_str().unwrap();
    assert_eq!(claims(&body["access_token"])["client_id"], "app");
    assert_eq!(redeem(&peer, grant, "wrong").await.error(), (401, "invalid_client".to_owned()));
    let tokens = redeem(&peer, grant, "s").await;
    assert_eq!(tokens.status, 200, "{tokens:?}");
    let tokens = tokens.json();
    assert_eq!(
        (&tokens["scope"], &claims(&tokens["access_token"])["aud"]),
        (&json!("read"), &json!(peer.mock.protected()))
    );
    assert_eq!(peer.list_with(&tokens["access_token"]).await.status, 200);
    assert_eq!(redeem(&peer, grant, "s").await.error().1, "invalid_grant");
    let grants: Vec<_> = peer
        .events()
        .into_iter()
        .filter_map(|event| match event {
            AuditEvent::TokenRequested(asked) => asked.grant,
            _ => None,
        })
        .collect();
    assert_eq!(grants, [EXCHANGE, JWT_BEARER, JWT_BEARER, JWT_BEARER]);
}

#[tokio::test]
async fn the_identity_provider_checks_what_it_exchanges() {
    let peer = Peer::new(ENTERPRISE).await;
    let now = peer.clock.seconds();
    let token = |claims: Value| peer.mock.assertion(&peer.at("/idp"), claims).unwrap();
    let for_another = token(json!({"sub": "x", "aud": "another", "exp": now + 60}));
    let expired = token(json!({"sub": "x", "aud": "idp-client", "exp": now - 60}));
    let claims = json!({"iss": peer.at("/idp"), "sub": "x", "aud": "idp-client", "exp": now + 60});
    assert_eq!(exchange(&peer, &[("subject_token", &token(claims.clone()))]).await.status, 200);
    let forged = SigningKey::seeded(1, "forger").sign("JWT", &claims);
    // By the right key, and yet no ID token: of another issuer, and of the type of the grants.
    let of_another = token(json!({"iss": peer.mock.issuer(), "sub": "x", "aud": "idp-client", "exp": now + 60}));
    let grant = provider_key().sign("oauth-id-jag+jwt", &claims);
    for (over, error) in [
        (("grant_type", "client_credentials"), "unsupported_grant_type"),
        (("requested_token_type", "urn:ietf:params:oauth:token-type:access_token"), "invalid_request"),
        (("subject_token_type", "urn:ietf:params:oauth:token-type:jwt"), "invalid_request"),
        (("subject_token", ""), "invalid_request"),
        (("subject_token", "nonsense"), "invalid_grant"),
        (("subject_token", &for_another), "invalid_grant"),
        (("subject_token", &expired), "invalid_grant"),
        (("subject_token", &forged), "invalid_grant"),
        (("subject_token", &of_another), "invalid_grant"),
        (("subject_token", &grant), "invalid_grant"),
        (("audience", "https://another.example"), "invalid_target"),
        (("audience", ""), "invalid_request"),
        (("resource", ""), "invalid_request"),
        (("client_id", "stranger"), "invalid_client"),
    ] {
        assert_eq!(exchange(&peer, &[over]).await.error().1, error, "{over:?}");
    }
}

#[tokio::test]
async fn the_policy_and_the_time_limit_the_grant() {
    let peer =
        Peer::new(&ENTERPRISE.replace("allowed_scopes", "allowed_resources: ['https://a.example'], allowed_scopes"))
            .await;
    assert_eq!(exchange(&peer, &[]).await.error().1, "access_denied");
    let peer = Peer::new(ENTERPRISE).await;
    let grant = exchange(&peer, &[]).await.json()["access_token"].as_str().unwrap().to_owned();
    peer.clock.advance(Duration::from_secs(600));
    assert_eq!(redeem(&peer, &grant, "s").await.error().1, "invalid_grant");
    // What the provider signs for other ends is no grant.
    let now = peer.clock.seconds();
    let claims = json!({"sub": "x", "aud": peer.mock.issuer(), "client_id": "app", "jti": "1", "exp": now + 60,
        "resource": peer.mock.protected()});
    let other = peer.mock.assertion(&peer.at("/idp"), claims).unwrap();
    assert_eq!(redeem(&peer, &other, "s").await.error().1, "invalid_grant");
}

#[tokio::test]
async fn a_grant_of_the_enterprise_names_its_client_its_resource_and_itself() {
    let peer = Peer::new(ENTERPRISE).await;
    let now = peer.clock.seconds();
    let sign = |name: &str, value: Value| {
        let mut claims = json!({
            "iss": peer.at("/idp"), "sub": "x", "aud": peer.mock.issuer(), "client_id": "app", "jti": format!("{name} {value}"),
            "resource": peer.mock.protected(), "scope": "read", "iat": now, "exp": now + 60,
        });
        claims[name] = value;
        claims.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        provider_key().sign("oauth-id-jag+jwt", &claims)
    };
    let good = redeem(&peer, &sign("jti", json!("1")), "s").await;
    assert_eq!(good.status, 200, "only what is wrong below makes the difference: {good:?}");
    for (name, value) in [
        ("client_id", json!("idp-client")),
        ("client_id", Value::Null),
        ("jti", Value::Null),
        ("resource", json!("https://another.example/mcp")),
        ("resource", Value::Null),
    ] {
        let answer = redeem(&peer, &sign(name, value.clone()), "s").await;
        assert_eq!(answer.error(), (400, "invalid_grant".to_owned()), "{name}: {value}");
    }
}

#[tokio::test]
async fn a_client_presents_the_grant_only_if_it_authenticates_as_the_enterprise_wants() {
    // A secret where the enterprise wants a key, or in the form where it wants it in the header; and no secret, where by
    // default anything but that is good.
    let wanted = |method: &str| {
        ENTERPRISE.replace("allowed_scopes", &format!("server_auth_methods: [{method}], allowed_scopes"))
    };
    let none = ENTERPRISE.replace(" secret: s,", "");
    for (text, secret) in [(wanted("private_key_jwt"), "s"), (wanted("client_secret_basic"), "s"), (none, "")] {
        let peer = Peer::new(&text).await;
        let grant = exchange(&peer, &[]).await.json()["access_token"].as_str().unwrap().to_owned();
        let mut form = vec![("grant_type", JWT_BEARER), ("client_id", "app"), ("assertion", &grant)];
        form.extend(Some(("client_secret", secret)).filter(|(_, secret)| !secret.is_empty()));
        let answer = peer.form("/token", &form).await;
        assert_eq!(answer.error(), (401, "invalid_client".to_owned()), "{text}");
        assert_eq!(answer.json()["error_description"], "the client has to authenticate in another way", "{text}");
    }
}

#[tokio::test]
async fn the_keys_of_an_issuer_are_read_at_the_start_or_there_is_none() {
    let key = SigningKey::seeded(1, "issuer");
    let with = |keys: String| WORKLOAD.replace("subjects: [pod-1]", &keys);
    let peer = Peer::new(&with(format!("jwks: {}", json!({"keys": [key.public_jwk()]})))).await;
    let claims = json!({
        "iss": "https://idp.example", "sub": "pod-1", "aud": peer.mock.issuer(), "exp": peer.clock.seconds() + 60,
    });
    assert_eq!(present(&peer, &key.sign("JWT", &claims), &[]).await.status, 200);
    let held_by_nobody = peer.mock.assertion("https://idp.example", claims);
    assert_eq!(held_by_nobody, None, "the mock does not sign for an issuer that has keys of its own");
    for keys in ["jwks: { keys: [] }", "jwks: { keys: [{ kty: oct, k: c2VjcmV0 }] }", "jwks: {}", "public_key: no key"]
    {
        let refused = OAuthMock::start(script(&with(keys.to_owned())), OAuthOptions::default()).await;
        let error = refused.expect_err(keys).to_string();
        assert!(error.contains("the keys of the issuer `https://idp.example` are not understood"), "{error}");
    }
}
