//! How clients prove who they are.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use mcp_workbench_mock_servers::oauth::{
    AuthScript, SigningKey,
    script::{AuthMethod, GrantType, RegisteredClient},
};
use serde_json::{Value, json};

use crate::peer::{Peer, claims, read};

const SECRETS: &str = "clients:\n  - { id: 'an id:1', secret: 'a secret+1', grant_types: [client_credentials] }\n";
const GRANT: (&str, &str) = ("grant_type", "client_credentials");
const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

#[tokio::test]
async fn a_secret_is_taken_from_the_header_or_the_form_and_not_from_both() {
    let peer = Peer::new(SECRETS).await;
    let header = |id: &str, secret: &str| format!("Basic {}", STANDARD.encode(format!("{id}:{secret}")));
    let basic = async |value: String, form: &[(&str, &str)]| {
        read(peer.post("/token", form).header("authorization", value)).await
    };
    let good = basic(header("an+id%3A1", "a%20secret%2B1"), &[GRANT]).await;
    assert_eq!(good.status, 200, "{good:?}");
    assert_eq!(claims(&good.json()["access_token"])["sub"], "an id:1");
    assert_eq!(good.json().get("refresh_token"), None);
    let bad = basic(header("an+id%3A1", "wrong"), &[GRANT]).await;
    assert_eq!(bad.error(), (401, "invalid_client".to_owned()));
    assert!(bad.header("www-authenticate").starts_with("Basic"));
    for value in ["Basic", "Basic !!!", "Basic bm9jb2xvbg==", "Digest x"] {
        assert_eq!(basic(value.to_owned(), &[GRANT]).await.error(), (401, "invalid_client".to_owned()), "{value}");
    }
    let other_scheme = header("an+id%3A1", "a%20secret%2B1").replace("Basic", "Digest");
    assert_eq!(basic(other_scheme, &[GRANT]).await.error(), (401, "invalid_client".to_owned()));
    let form = [GRANT, ("client_id", "an id:1"), ("client_secret", "a secret+1")];
    assert_eq!(peer.form("/token", &form).await.status, 200);
    let both = basic(header("an+id%3A1", "a%20secret%2B1"), &form).await;
    assert_eq!(both.error(), (400, "invalid_request".to_owned()));
    let another = basic(header("an+id%3A1", "a%20secret%2B1"), &[GRANT, ("client_id", "another")]).await;
    assert_eq!(another.error(), (400, "invalid_request".to_owned()));
}

#[tokio::test]
async fn a_confidential_client_is_nobody_without_its_secret() {
    let peer = Peer::new(SECRETS).await;
    assert_eq!(
        peer.form("/token", &[GRANT, ("client_id", "an id:1")]).await.error(),
        (401, "invalid_client".to_owned())
    );
    assert_eq!(peer.form("/token", &[GRANT]).await.error(), (401, "invalid_client".to_owned()));
}

#[tokio::test]
async fn a_public_client_has_no_credentials_to_get_a_token_for() {
    let peer = Peer::new("clients: [{ id: app, grant_types: [client_credentials] }]\n").await;
    assert_eq!(peer.form("/token", &[GRANT, ("client_id", "app")]).await.error().1, "unauthorized_client");
}

#[tokio::test]
async fn a_client_uses_the_method_that_it_registered_for_and_the_server_knows() {
    let only_basic = "clients: [{ id: app, secret: s, token_endpoint_auth_method: client_secret_basic, grant_types: [client_credentials] }]\n";
    let form = [GRANT, ("client_id", "app"), ("client_secret", "s")];
    assert_eq!(Peer::new(only_basic).await.form("/token", &form).await.error().1, "invalid_client");
    let not_post = "token_endpoint_auth_methods: [client_secret_basic]\nclients: [{ id: app, secret: s, grant_types: [client_credentials] }]\n";
    assert_eq!(Peer::new(not_post).await.form("/token", &form).await.error().1, "invalid_client");
}

fn keyed(key: &SigningKey) -> AuthScript {
    AuthScript {
        clients: vec![RegisteredClient {
            id: "machine".to_owned(),
            jwks: Some(json!({"keys": [key.public_jwk()]})),
            grant_types: vec![GrantType::ClientCredentials],
            token_endpoint_auth_method: Some(AuthMethod::PrivateKeyJwt),
            ..RegisteredClient::default()
        }],
        ..AuthScript::default()
    }
}

#[tokio::test]
async fn an_assertion_of_the_client_has_to_be_its_own_fresh_and_for_this_server() {
    let (key, stranger) = (SigningKey::seeded(1, "machine"), SigningKey::seeded(2, "machine"));
    let peer = Peer::with(keyed(&key), 7).await;
    let now = peer.clock.seconds();
    let good = json!({
        "iss": "machine", "sub": "machine", "aud": peer.mock.issuer(), "jti": "1", "iat": now, "exp": now + 60,
    });
    let present = async |assertion: String| {
        let form = [GRANT, ("client_assertion_type", ASSERTION), ("client_assertion", &assertion)];
        peer.form("/token", &form).await
    };
    let with = |name: &str, value: Value| {
        let mut claims = good.clone();
        claims[name] = value;
        claims
    };
    let token_endpoint = peer.at("/token");
    assert_eq!(present(key.sign("JWT", &good)).await.status, 200);
    assert_eq!(
        present(key.sign("JWT", &with("aud", json!([token_endpoint, "x"])).clone())).await.error().1,
        "invalid_client"
    );
    let mut other = with("aud", json!([token_endpoint, "x"]));
    other["jti"] = json!("2");
    assert_eq!(present(key.sign("JWT", &other)).await.status, 200);
    for (name, value) in [
        ("iss", json!("another")),
        ("sub", json!("another")),
        ("aud", json!("https://another.example")),
        ("exp", json!(now - 60)),
        ("exp", json!(now + 86_400)),
        ("exp", json!(u64::MAX)),
        ("exp", Value::Null),
        ("iat", json!(now + 600)),
        ("nbf", json!(now + 600)),
        ("jti", Value::Null),
    ] {
        let mut claims = with("jti", json!(format!("{name} {value}")));
        claims[name] = value;
        assert_eq!(present(key.sign("JWT", &claims)).await.error(), (401, "invalid_client".to_owned()), "{claims}");
    }
    assert_eq!(present(stranger.sign("JWT", &with("jti", json!("3")))).await.error().1, "invalid_client");
    let unsigned = key.sign_with(&json!({"alg": "none"}), &with("jti", json!("4")));
    assert_eq!(present(unsigned).await.error().1, "invalid_client");
    let assertion = key.sign("JWT", &with("jti", json!("5")));
    let other_kind = "urn:ietf:params:oauth:client-assertion-type:saml2-bearer";
    let form = [GRANT, ("client_assertion_type", other_kind), ("client_assertion", &assertion)];
    assert_eq!(peer.form("/token", &form).await.error(), (401, "invalid_client".to_owned()));
    assert_eq!(present("no token".to_owned()).await.error().1, "invalid_client");
}

#[tokio::test]
async fn the_key_of_a_client_may_be_written_in_pem() {
    // RFC 9500 section 2.1: a key for tests, which protects nothing.
    let pem = "-----BEGIN PUBLIC KEY-----\n\
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEQiVI+I+3gv+17KN0RFLHKh5Vj71v\n\
        c75eSOkyMsxFxbFsTNEMTLjVuKFxOelIgsiZJXKZNCX0FBmrfpCkKklCcg==\n-----END PUBLIC KEY-----\n";
    let mut script = keyed(&SigningKey::seeded(1, "machine"));
    script.clients[0].jwks = None;
    script.clients[0].public_key = Some(pem.to_owned());
    let peer = Peer::with(script.clone(), 7).await;
    let stranger = SigningKey::seeded(1, "machine").sign("JWT", &json!({"iss": "machine", "sub": "machine"}));
    let form = [GRANT, ("client_assertion_type", ASSERTION), ("client_assertion", stranger.as_str())];
    assert_eq!(peer.form("/token", &form).await.error().1, "invalid_client");
    script.clients[0].public_key = Some("no key".to_owned());
    let refused = mcp_workbench_mock_servers::oauth::OAuthMock::start(script, Default::default()).await;
    assert!(refused.unwrap_err().to_string().contains("the keys of the client `machine` are not understood"));
}
