//! Client ID metadata documents.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    http::{HeaderMap, StatusCode},
    response::IntoResponse,
    routing::get,
};
use mcp_workbench_mock_servers::oauth::{AuditEvent, Outcome, SigningKey};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::peer::{CALLBACK, Peer};

/// A site on this machine that serves one document, and counts how often.
struct DocumentServer {
    url: String,
    served: Arc<AtomicUsize>,
}

impl DocumentServer {
    async fn new(headers: &[(&str, &str)], document: impl Fn(&str) -> String) -> Self {
        Self::answering(StatusCode::OK, headers, document).await
    }

    async fn answering(status: StatusCode, headers: &[(&str, &str)], document: impl Fn(&str) -> String) -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/client.json", socket.local_addr().unwrap());
        let (body, served) = (document(&url), Arc::new(AtomicUsize::new(0)));
        let headers: HeaderMap =
            headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        let count = Arc::clone(&served);
        let answer = move || {
            count.fetch_add(1, Ordering::SeqCst);
            let (headers, body) = (headers.clone(), body.clone());
            async move { (status, headers, body).into_response() }
        };
        let router = Router::new().route("/client.json", get(answer));
        tokio::spawn(async move { axum::serve(socket, router).await });
        Self { url, served }
    }

    async fn json(document: impl Fn(&str) -> Value) -> Self {
        Self::new(&[("content-type", "application/json")], |url| document(url).to_string()).await
    }
}

fn good(url: &str) -> Value {
    json!({
        "client_id": url, "client_name": "a client", "redirect_uris": [CALLBACK],
        "grant_types": ["authorization_code", "refresh_token"], "token_endpoint_auth_method": "none",
    })
}

#[tokio::test]
async fn a_client_that_nobody_registered_is_known_by_its_document() {
    let (peer, site) = (Peer::new("{}").await, DocumentServer::json(good).await);
    let tokens = peer.tokens(&site.url, &[]).await;
    assert!(tokens["refresh_token"].is_string());
    assert_eq!(peer.list_with(&tokens["access_token"]).await.status, 200);
    assert_eq!(peer.authorize(&site.url, &[("redirect_uri", "https://evil.example/cb")]).await.status, 400);
}

#[tokio::test]
async fn a_document_is_kept_for_as_long_as_it_is_fresh() {
    let headers = [("content-type", "application/json"), ("cache-control", "max-age=60")];
    let (peer, site) = (Peer::new("{}").await, DocumentServer::new(&headers, |url| good(url).to_string()).await);
    peer.tokens(&site.url, &[]).await;
    assert_eq!(site.served.load(Ordering::SeqCst), 1);
    peer.clock.advance(Duration::from_secs(60));
    peer.authorize(&site.url, &[]).await;
    assert_eq!(site.served.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_document_that_is_not_right_makes_no_client() {
    let peer = Peer::new("client_id_metadata: { timeout: 200ms }\n").await;
    let with = |name: &'static str, value: Value| {
        move |url: &str| {
            let mut document = good(url);
            document[name] = value.clone();
            document
        }
    };
    let json_type = [("content-type", "application/json")];
    let sites = [
        DocumentServer::json(with("client_id", json!("https://another.example/client.json"))).await,
        DocumentServer::json(with("client_name", Value::Null)).await,
        DocumentServer::json(with("redirect_uris", Value::Null)).await,
        DocumentServer::json(with("redirect_uris", json!(["javascript:alert(1)"]))).await,
        DocumentServer::json(with("client_secret", json!("s"))).await,
        DocumentServer::json(with("token_endpoint_auth_method", json!("client_secret_basic"))).await,
        DocumentServer::json(with("padding", json!("x".repeat(20_000)))).await,
        DocumentServer::new(&json_type, |_| "no json".to_owned()).await,
        DocumentServer::new(&json_type, |_| "[]".to_owned()).await,
        DocumentServer::new(&[("content-type", "text/html")], |url| good(url).to_string()).await,
    ];
    for site in &sites {
        assert_eq!(peer.authorize(&site.url, &[]).await.status, 400, "{:?}", peer.events());
        let refused = peer.events().into_iter().rev().find_map(|event| match event {
            AuditEvent::DocumentFetched { outcome } => Some(outcome),
            _ => None,
        });
        assert!(matches!(refused, Some(Outcome::Refused(_))), "{refused:?}");
    }
    let missing = sites[0].url.replace("client.json", "nothing.json");
    assert_eq!(peer.authorize(&missing, &[]).await.status, 400);
    // Somebody who takes the connection and never says a word.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/client.json", silent.local_addr().unwrap());
    assert_eq!(peer.authorize(&url, &[]).await.status, 400);
    assert!(
        peer.events().contains(&AuditEvent::DocumentFetched {
            outcome: Outcome::Refused("the document took too long".to_owned())
        })
    );
}

#[tokio::test]
async fn a_good_document_under_any_status_but_200_makes_no_client() {
    // Two other successes, a redirect to where the document would be, and two errors: each of them brings it along.
    for status in [203, 206, 302, 404, 500] {
        let (peer, elsewhere) = (Peer::new("{}").await, DocumentServer::json(good).await);
        let headers = [("content-type", "application/json"), ("location", elsewhere.url.as_str())];
        let status = StatusCode::from_u16(status).unwrap();
        let site = DocumentServer::answering(status, &headers, |url| good(url).to_string()).await;
        assert_eq!(peer.authorize(&site.url, &[]).await.status, 400, "{status}");
        let refused = Outcome::Refused("the response with the document does not have status 200".to_owned());
        assert!(peer.events().contains(&AuditEvent::DocumentFetched { outcome: refused }), "{:?}", peer.events());
        let asked = (site.served.load(Ordering::SeqCst), elsewhere.served.load(Ordering::SeqCst));
        assert_eq!(asked, (1, 0), "{status}: a redirect is not followed");
    }
}

#[tokio::test]
async fn nothing_but_this_machine_is_asked() {
    let peer = Peer::new("{}").await;
    for id in ["https://app.example/client.json", "http://169.254.169.254/client.json", "http://10.0.0.1/x"] {
        assert_eq!(peer.authorize(id, &[]).await.status, 400, "{id}");
    }
    for id in ["ftp://127.0.0.1/x", "http://127.0.0.1:1/", "http://user@127.0.0.1:1/x", "http://127.0.0.1:1/a/../b"] {
        assert_eq!(peer.authorize(id, &[]).await.status, 400, "{id}");
    }
    // Only what looks like a document was tried, and none of it left the machine.
    let tried = peer.events().into_iter().filter_map(|event| match event {
        AuditEvent::DocumentFetched { outcome } => Some(outcome),
        _ => None,
    });
    let refused = Outcome::Refused("the document is not on a loopback address".to_owned());
    assert_eq!(tried.collect::<Vec<_>>(), [refused]);
}

#[tokio::test]
async fn a_script_may_know_documents_or_trust_those_it_cannot_reach() {
    let peer = Peer::new(
        "client_id_metadata:\n  documents:\n    https://app.example/client.json:\n      client_id: https://app.example/client.json\n      client_name: an app\n      redirect_uris: ['http://127.0.0.1:1/callback']\n",
    )
    .await;
    assert_eq!(peer.authorize("https://app.example/client.json", &[]).await.status, 302);
    assert_eq!(peer.authorize("https://other.example/client.json", &[]).await.status, 400);
    let peer = Peer::new("client_id_metadata: { trust_unreachable: true }\n").await;
    assert!(peer.tokens("https://other.example/client.json", &[]).await["access_token"].is_string());
    let peer = Peer::new("client_id_metadata: { supported: false, trust_unreachable: true }\n").await;
    assert_eq!(peer.authorize("https://other.example/client.json", &[]).await.status, 400);
}

#[tokio::test]
async fn keys_may_be_kept_elsewhere_on_this_machine() {
    let key = SigningKey::seeded(1, "client");
    let keys = key.public_jwk().clone();
    let jwks = DocumentServer::json(move |_| json!({"keys": [keys]})).await;
    let jwks_uri = jwks.url.clone();
    let site = DocumentServer::json(move |url| {
        let mut document = good(url);
        document["token_endpoint_auth_method"] = json!("private_key_jwt");
        document["jwks_uri"] = json!(jwks_uri);
        document
    })
    .await;
    let peer = Peer::new("{}").await;
    let now = peer.clock.seconds();
    let code = peer.code(&site.url, &[]).await;
    let claims = json!({"iss": site.url, "sub": site.url, "aud": peer.mock.issuer(), "jti": "1", "exp": now + 60});
    let assertion = key.sign("JWT", &claims);
    let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
    let over = [("client_assertion", assertion.as_str()), ("client_assertion_type", kind)];
    assert_eq!(peer.redeem(&site.url, &code, &over).await.status, 200);
    assert_eq!(jwks.served.load(Ordering::SeqCst), 2);
}
