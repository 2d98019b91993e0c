//! The authorization server of one case, its successor, and the credentials that the client gets.

use std::{collections::HashMap, path::PathBuf};

use evidence::{Frame, Recorder};
use mock_servers::oauth::{
    OAuthMock, OAuthOptions, SigningKey, StartError,
    script::{AuthMethod, AuthScript},
};
use serde_json::{Map, Value, json};

use crate::{
    evidence::{AUTHORIZATION_PREFIX, AUTHORIZATION_SERVER, REJECTED_ACCESS as REJECTED},
    model::{Authorization, MOCK_SERVER},
};

/// The URL of the client's metadata document, which the programs of the official suite contain. It is not fetched.
const CLIENT_DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

/// The running authorization servers of a case.
#[derive(Debug)]
pub(super) struct Authority {
    first: RunningAuthority,
    successor: Option<RunningAuthority>,
    /// The key of a client that signs its assertions.
    key: SigningKey,
}

#[derive(Debug)]
struct RunningAuthority {
    mock: OAuthMock,
    record: PathBuf,
}

impl Authority {
    /// Starts the servers. `records` returns the recorder of the server with this name, and its file.
    pub(super) async fn start<E: From<StartError>>(
        setup: &Authorization,
        seed: u64,
        records: impl Fn(&str) -> Result<(Recorder, PathBuf), E>,
    ) -> Result<Self, E> {
        let key = SigningKey::seeded(seed, "client");
        let first = RunningAuthority::start(&setup.server, seed, &key, records(AUTHORIZATION_SERVER)?).await?;
        let successor = match &setup.successor {
            Some(script) => {
                let record = records(&format!("{AUTHORIZATION_PREFIX}successor"))?;
                let successor = RunningAuthority::start(script, seed, &key, record).await?;
                first.mock.hand_over_after(1, &successor.mock);
                Some(successor)
            }
            None => None,
        };
        Ok(Self { first, successor, key })
    }

    /// The authorization server that protects the mock server.
    pub(super) fn server(&self) -> &OAuthMock {
        &self.first.mock
    }

    /// The credentials of the client, by key of the context. The keys are those of the official suite.
    pub(super) fn credentials(&self, setup: &Authorization) -> Map<String, Value> {
        let (script, mock) = (&setup.server, &self.first.mock);
        let mut credentials = Map::new();
        let mut add = |name: &str, value: Option<String>| {
            credentials.extend(value.map(|value| (name.to_owned(), Value::from(value))));
        };
        if let Some(client) = script.clients.first() {
            add("client_id", Some(client.id.clone()));
            add("client_secret", client.secret.clone());
            // Without metadata a client cannot know to which issuer its credentials belong.
            add("client_issuer", script.discovery.has_metadata().then(|| mock.issuer().to_owned()));
            let has_key = client.token_endpoint_auth_method == Some(AuthMethod::PrivateKeyJwt);
            add("private_key_pem", has_key.then(|| self.key.private_pem().to_owned()));
            add("signing_algorithm", has_key.then(|| "ES256".to_owned()));
        }
        add("client_metadata_url", script.client_id_metadata.supported.then(|| CLIENT_DOCUMENT.to_owned()));
        if let Some(provider) = &script.identity_provider {
            let issuer = format!("{}{}", mock.url(), provider.path);
            add("idp_client_id", Some(provider.client_id.clone()));
            add("idp_id_token", mock.id_token());
            add("idp_token_endpoint", Some(format!("{issuer}/token")));
            add("idp_issuer", Some(issuer));
        }
        if let Some(trusted) = script.trusted_issuers.first() {
            let subject = trusted.subjects.iter().flatten().next().map_or("workload", String::as_str);
            let assertion = |id: &str, audience: &str, age: u64| {
                let issued = mock.clock().seconds().saturating_sub(age);
                let claims = json!({ "sub": subject, "aud": audience, "jti": id, "iat": issued, "exp": issued + 300 });
                mock.assertion(&trusted.issuer, claims)
            };
            add("valid_jwt", assertion("valid", mock.issuer(), 0));
            add("wrong_audience_jwt", assertion("wrong-audience", "https://wrong.example", 0));
            add("expired_jwt", assertion("expired", mock.issuer(), 600));
        }
        credentials
    }

    /// The files with the frames so far.
    pub(super) fn records(&self) -> Vec<PathBuf> {
        [Some(&self.first), self.successor.as_ref()].into_iter().flatten().map(|one| one.record.clone()).collect()
    }

    /// Stops the servers and returns the files with their frames.
    pub(super) async fn stop(self) -> Vec<PathBuf> {
        let records = self.records();
        self.first.mock.stop().await;
        if let Some(successor) = self.successor {
            successor.mock.stop().await;
        }
        records
    }
}

impl RunningAuthority {
    async fn start(
        script: &AuthScript,
        seed: u64,
        key: &SigningKey,
        (recorder, record): (Recorder, PathBuf),
    ) -> Result<Self, StartError> {
        let mut script = script.clone();
        for client in &mut script.clients {
            if client.token_endpoint_auth_method == Some(AuthMethod::PrivateKeyJwt) && client.public_key.is_none() {
                client.jwks.get_or_insert_with(|| json!({ "keys": [key.public_jwk()] }));
            }
        }
        let options = OAuthOptions::default().with_seed(seed).with_recorder(recorder);
        let mock = OAuthMock::start(script, options).await?;
        Ok(Self { mock, record })
    }
}

/// Separates the frames of authorization from those of MCP. MCP are the exchanges with this path that the protected server
/// did not reject: a rejected message was not received, and is sent again. Of other servers only MCP is kept.
pub(super) fn separate(frames: &mut Vec<Frame>, endpoint: &str) {
    let mut exchanges: HashMap<(String, u64), Exchange> = HashMap::new();
    for frame in frames.iter() {
        let Some(http) = &frame.http else { continue };
        let exchange = exchanges.entry((frame.server.clone(), frame.connection)).or_default();
        if let Some(path) = &http.path {
            exchange.is_to_endpoint = path.split('?').next() == Some(endpoint);
        }
        let is_challenge = http.headers.contains_key("www-authenticate");
        exchange.is_rejected |= matches!(http.status, Some(401 | 403)) || http.status == Some(400) && is_challenge;
    }
    frames.retain_mut(|frame| {
        let Some(exchange) = exchanges.get(&(frame.server.clone(), frame.connection)) else { return true };
        let is_of_authority = frame.server.starts_with(AUTHORIZATION_PREFIX);
        if frame.server != MOCK_SERVER && !is_of_authority {
            return exchange.is_to_endpoint;
        }
        // One origin may have both servers.
        match (exchange.is_to_endpoint, exchange.is_rejected) {
            (true, false) => MOCK_SERVER.clone_into(&mut frame.server),
            (true, true) => REJECTED.clone_into(&mut frame.server),
            (false, _) if !is_of_authority => frame.server = format!("{AUTHORIZATION_PREFIX}{}", frame.server),
            (false, _) => {}
        }
        true
    });
}

#[derive(Default)]
struct Exchange {
    is_to_endpoint: bool,
    is_rejected: bool,
}
