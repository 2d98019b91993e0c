//! A client that does exactly what a test says.

use std::{collections::HashMap, time::Duration};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use mcp_workbench_mock_servers::oauth::{AuditEntry, AuditEvent, AuthScript, Clock, OAuthMock, OAuthOptions};
use reqwest::{Client, RequestBuilder, Response, redirect::Policy};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use test_support::http_client_builder;

pub(crate) const VERIFIER: &str = "a-verifier-that-is-long-enough-for-the-standard";
pub(crate) const CALLBACK: &str = "http://127.0.0.1:7777/callback";
/// When the manual clock of these tests begins.
pub(crate) const START: Duration = Duration::from_secs(1_800_000_000);

/// The challenge for the verifier.
pub(crate) fn challenge() -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(VERIFIER))
}

/// A running server and a client that follows no redirects.
pub(crate) struct Peer {
    pub(crate) mock: OAuthMock,
    pub(crate) http: Client,
    pub(crate) clock: Clock,
}

/// An answer that was read.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) text: String,
}

impl Read {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Status and error, as most tests compare them.
    pub(crate) fn error(&self) -> (u16, String) {
        (self.status, self.json()["error"].as_str().unwrap_or_default().to_owned())
    }

    /// The parameters of the redirect.
    pub(crate) fn query(&self) -> HashMap<String, String> {
        let location = self.header("location");
        url::Url::parse(location)
            .unwrap_or_else(|error| panic!("{error}: {location:?} {self:?}"))
            .query_pairs()
            .into_owned()
            .collect()
    }
}

pub(crate) async fn read(request: RequestBuilder) -> Read {
    let response: Response = request.send().await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    Read { status, headers, text: response.text().await.unwrap() }
}

/// A script as people write it.
pub(crate) fn script(text: &str) -> AuthScript {
    serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}"))
}

impl Peer {
    pub(crate) async fn new(text: &str) -> Self {
        Self::with(script(text), 7).await
    }

    pub(crate) async fn with(script: AuthScript, seed: u64) -> Self {
        let clock = Clock::manual(START);
        let options = OAuthOptions::default().with_seed(seed).with_clock(clock.clone());
        let mock = OAuthMock::start(script, options).await.unwrap();
        let http = http_client_builder().redirect(Policy::none()).build().unwrap();
        Self { mock, http, clock }
    }

    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.mock.url())
    }

    pub(crate) async fn get(&self, path: &str) -> Read {
        read(self.http.get(self.at(path))).await
    }

    pub(crate) async fn form(&self, path: &str, form: &[(&str, &str)]) -> Read {
        read(self.post(path, form)).await
    }

    pub(crate) fn post(&self, path: &str, form: &[(&str, &str)]) -> RequestBuilder {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        self.http.post(self.at(path)).header("content-type", "application/x-www-form-urlencoded").body(body)
    }

    pub(crate) async fn register(&self, body: &Value) -> Read {
        read(self.http.post(self.at("/register")).json(body)).await
    }

    /// Registers a public client, and returns its id.
    pub(crate) async fn public_client(&self) -> String {
        let registered = self
            .register(&json!({
                "redirect_uris": [CALLBACK],
                "token_endpoint_auth_method": "none",
                "grant_types": ["authorization_code", "refresh_token"],
            }))
            .await;
        assert_eq!(registered.status, 201, "{registered:?}");
        registered.json()["client_id"].as_str().unwrap().to_owned()
    }

    /// An authorization request that is in order, with these parameters laid over it: an empty one is left out.
    pub(crate) async fn authorize(&self, client: &str, over: &[(&str, &str)]) -> Read {
        let challenge = challenge();
        let mut params = vec![
            ("response_type", "code"),
            ("client_id", client),
            ("redirect_uri", CALLBACK),
            ("state", "the-state"),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ];
        for (name, value) in over {
            params.retain(|(key, _)| key != name || *name == "resource");
            params.push((name, value));
        }
        params.retain(|(_, value)| !value.is_empty());
        let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(params).finish();
        self.get(&format!("/authorize?{query}")).await
    }

    /// The code of an authorization request that is in order.
    pub(crate) async fn code(&self, client: &str, over: &[(&str, &str)]) -> String {
        let answer = self.authorize(client, over).await;
        answer.query().remove("code").unwrap_or_else(|| panic!("{answer:?}"))
    }

    /// Redeems a code as a public client does, with these parameters on top.
    pub(crate) async fn redeem(&self, client: &str, code: &str, over: &[(&str, &str)]) -> Read {
        read(self.redeeming(client, code, over)).await
    }

    pub(crate) fn redeeming(&self, client: &str, code: &str, over: &[(&str, &str)]) -> RequestBuilder {
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", CALLBACK),
            ("code_verifier", VERIFIER),
            ("client_id", client),
        ];
        for (name, value) in over {
            form.retain(|(key, _)| key != name);
            form.push((name, value));
        }
        form.retain(|(_, value)| !value.is_empty());
        self.post("/token", &form)
    }

    /// The token response of a whole flow, with these parameters in the authorization request.
    pub(crate) async fn tokens(&self, client: &str, over: &[(&str, &str)]) -> Value {
        let code = self.code(client, over).await;
        let answer = self.redeem(client, &code, &[]).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    /// Asks the protected resource for its tools, with this header.
    pub(crate) async fn list(&self, authorization: Option<&str>) -> Read {
        self.call("tools/list", authorization).await
    }

    pub(crate) async fn call(&self, method: &str, authorization: Option<&str>) -> Read {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"name": "test-tool"}});
        let mut request = self.http.post(self.mock.protected()).json(&body);
        if let Some(value) = authorization {
            request = request.header("authorization", value);
        }
        read(request).await
    }

    /// Asks with this access token.
    pub(crate) async fn list_with(&self, token: &Value) -> Read {
        self.list(Some(&format!("Bearer {}", token.as_str().unwrap()))).await
    }

    /// What the log says, without the parts that every entry has.
    pub(crate) fn events(&self) -> Vec<AuditEvent> {
        self.mock.audit().into_iter().map(|entry| entry.event).collect()
    }

    pub(crate) fn last(&self) -> AuditEntry {
        self.mock.audit().pop().expect("something was done")
    }
}

/// The claims of a token.
pub(crate) fn claims(token: &Value) -> Value {
    let part = token.as_str().unwrap().split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}
