//! A token endpoint that counts requests, delays responses until the test releases them, and rotates refresh tokens: a
//! second use of one is rejected.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::post,
};
use tokio::sync::watch;

#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(crate) url: String,
    shared: Arc<Shared>,
}

struct Shared {
    refuses: bool,
    requests: watch::Sender<u32>,
    open: watch::Sender<bool>,
    /// Number of rotations of the refresh token.
    rotated: Mutex<u32>,
}

impl Endpoint {
    pub(crate) async fn start(refuses: bool) -> Self {
        let shared = Arc::new(Shared {
            refuses,
            requests: watch::Sender::new(0),
            open: watch::Sender::new(false),
            rotated: Mutex::default(),
        });
        let service = Router::new().route("/token", post(answer)).with_state(shared.clone());
        let url = test_support::serve(service).await + "/token";
        Self { url, shared }
    }

    pub(crate) fn requests(&self) -> u32 {
        *self.shared.requests.borrow()
    }

    pub(crate) async fn until_asked(&self, times: u32) {
        self.shared.requests.subscribe().wait_for(|requests| *requests >= times).await.unwrap();
    }

    /// Releases pending and later responses.
    pub(crate) fn open(&self) {
        self.shared.open.send_replace(true);
    }
}

async fn answer(State(shared): State<Arc<Shared>>, body: String) -> Response {
    shared.requests.send_modify(|requests| *requests += 1);
    shared.open.subscribe().wait_for(|open| *open).await.unwrap();
    let form: HashMap<String, String> = url::form_urlencoded::parse(body.as_bytes()).into_owned().collect();
    let mut rotated = shared.rotated.lock().unwrap();
    if shared.refuses || form.get("refresh_token") != Some(&format!("refresh-{rotated}")) {
        return (StatusCode::BAD_REQUEST, r#"{"error":"invalid_grant"}"#).into_response();
    }
    *rotated += 1;
    let text = format!(
        r#"{{"access_token":"access-{rotated}","token_type":"Bearer","expires_in":3600,"refresh_token":"refresh-{rotated}"}}"#
    );
    (StatusCode::OK, text).into_response()
}
