//! Dynamic client registration (RFC 7591).

use mcp_workbench_mock_servers::oauth::AuditEvent;
use serde_json::json;

use crate::peer::{CALLBACK, Peer};

#[tokio::test]
async fn a_client_gets_an_id_and_what_it_asked_for() {
    let peer = Peer::new("{}").await;
    let answer = peer
        .register(&json!({"client_name": "a client", "redirect_uris": [CALLBACK], "application_type": "native"}))
        .await;
    assert_eq!((answer.status, answer.header("cache-control")), (201, "no-store"));
    let body = answer.json();
    assert!(body["client_id"].as_str().unwrap().starts_with("client-"));
    // The default method needs a secret (RFC 7591 section 2).
    assert_eq!(body["token_endpoint_auth_method"], "client_secret_basic");
    assert!(body["client_secret"].is_string());
    assert_eq!(body["client_secret_expires_at"], 0);
    assert_eq!(body["client_name"], "a client");
    let AuditEvent::Registered(registered) = peer.last().event else { panic!("{:?}", peer.events()) };
    assert_eq!(registered.application_type.as_deref(), Some("native"));
    assert_eq!((registered.redirect_uris, registered.error), (vec![CALLBACK.to_owned()], None));
}

#[tokio::test]
async fn an_unknown_method_is_replaced_and_a_public_client_gets_no_secret() {
    let peer = Peer::new("token_endpoint_auth_methods: [client_secret_post]\n").await;
    let body = peer.register(&json!({"redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none"})).await.json();
    assert_eq!(body["token_endpoint_auth_method"], "client_secret_post");
    let peer = Peer::new("{}").await;
    let body = peer.register(&json!({"redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none"})).await.json();
    assert_eq!((body.get("client_secret"), &body["token_endpoint_auth_method"]), (None, &json!("none")));
}

#[tokio::test]
async fn redirect_uris_that_make_no_sense_are_refused() {
    let peer = Peer::new("{}").await;
    for (uris, application, refused) in [
        (json!([]), None, true),
        (json!(["not a uri"]), None, true),
        (json!(["https://app.example/cb#fragment"]), None, true),
        (json!(["http://app.example/cb"]), None, true),
        (json!(["javascript:alert(1)"]), None, true),
        (json!(["com.example.app:/cb"]), None, false),
        (json!(["com.example.app:/cb"]), Some("web"), true),
        (json!([CALLBACK]), Some("web"), true),
        (json!([CALLBACK]), Some("native"), false),
        (json!(["https://app.example/cb"]), Some("web"), false),
        (json!(vec![CALLBACK; 51]), None, true),
    ] {
        let mut body = json!({"redirect_uris": uris});
        if let Some(application) = application {
            body["application_type"] = json!(application);
        }
        let answer = peer.register(&body).await;
        if refused {
            assert_eq!(answer.error(), (400, "invalid_redirect_uri".to_owned()), "{body}");
        } else {
            assert_eq!(answer.status, 201, "{body} {answer:?}");
        }
    }
}

#[tokio::test]
async fn metadata_that_makes_no_sense_is_refused() {
    let peer = Peer::new("registration: { application_type_required: true }\n").await;
    for body in [
        json!({"redirect_uris": [CALLBACK]}),
        json!({"redirect_uris": [CALLBACK], "application_type": "mobile"}),
        json!({"redirect_uris": "x", "application_type": "native"}),
        json!({"redirect_uris": [CALLBACK], "application_type": "native", "grant_types": ["password"]}),
        json!({"redirect_uris": [CALLBACK], "application_type": "native", "token_endpoint_auth_method": 1}),
        json!({"redirect_uris": [CALLBACK], "application_type": "native", "token_endpoint_auth_method": "private_key_jwt"}),
        json!({"redirect_uris": [CALLBACK], "application_type": "native", "jwks": {}, "jwks_uri": "http://x.example/"}),
        json!([]),
    ] {
        assert_eq!(peer.register(&body).await.error(), (400, "invalid_client_metadata".to_owned()), "{body}");
    }
    let good = json!({"redirect_uris": [CALLBACK], "application_type": "native"}).to_string();
    let as_text = peer.http.post(peer.at("/register")).header("content-type", "text/plain").body(good);
    assert_eq!(crate::peer::read(as_text).await.error(), (400, "invalid_client_metadata".to_owned()));
}

#[tokio::test]
async fn a_server_without_registration_has_no_endpoint_for_it() {
    let peer = Peer::new("registration: { enabled: false }\n").await;
    assert_eq!(peer.register(&json!({"redirect_uris": [CALLBACK]})).await.status, 404);
    assert_eq!(peer.get("/.well-known/oauth-authorization-server").await.json().get("registration_endpoint"), None);
}

#[tokio::test]
async fn a_secret_expires_when_the_script_says_so() {
    let peer = Peer::new("registration: { secret_lifetime: 1m }\n").await;
    let body = peer
        .register(&json!({"redirect_uris": [CALLBACK], "token_endpoint_auth_method": "client_secret_post"}))
        .await
        .json();
    assert_eq!(body["client_secret_expires_at"], 1_800_000_060_u64);
    let (id, secret) = (body["client_id"].as_str().unwrap(), body["client_secret"].as_str().unwrap());
    let form = [("grant_type", "refresh_token"), ("client_id", id), ("client_secret", secret), ("refresh_token", "x")];
    assert_eq!(peer.form("/token", &form).await.error().1, "unauthorized_client");
    peer.clock.advance(std::time::Duration::from_secs(61));
    assert_eq!(peer.form("/token", &form).await.error(), (401, "invalid_client".to_owned()));
}
