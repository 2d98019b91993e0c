//! A mock OAuth authorization server, and a guard that makes any MCP mock a protected resource of it.
//!
//! The server conforms to the standards except where its [`AuthScript`] deviates or injects faults. Its audit log
//! records the actions of each client without secrets, for checks. Of MCP it uses only the method and the tool of a
//! request. It cannot protect real resources: keys, codes and tokens are derived from a seed.
//!
//! ```
//! use mcp_workbench_mock_servers::oauth::{AuthScript, OAuthMock, OAuthOptions};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mock = OAuthMock::start(AuthScript::default(), OAuthOptions::default()).await?;
//! # test_support::http_client(); // installs the TLS provider
//! let metadata = reqwest::get(format!("{}/.well-known/oauth-authorization-server", mock.issuer())).await?;
//! assert_eq!(metadata.json::<serde_json::Value>().await?["issuer"], mock.issuer());
//! assert_eq!(mock.audit().len(), 1);
//! mock.stop().await;
//! # Ok(())
//! # }
//! ```

mod access;
pub mod audit;
mod authorize;
mod bounded;
mod client_auth;
mod clock;
mod discovery;
mod documents;
mod dpop;
mod error;
mod guard;
mod jwt;
mod keys;
mod params;
mod protect;
mod register;
mod render;
mod resource;
mod routes;
mod sanitize;
pub mod script;
mod server;
mod state;
mod token;

use std::{
    io,
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use serde_json::{Value, json};
use thiserror::Error;

pub use self::{
    audit::{AuditEntry, AuditEvent, Outcome},
    clock::Clock,
    guard::{Granted, Guard},
    keys::SigningKey,
    routes::AuthorizationServer,
    script::AuthScript,
};
use self::{routes::OAuthService, server::Server};
use crate::listen::{self, protection::RequestGuard};
pub use crate::{
    faults::{OAuthFault, OAuthFaultRule, OAuthStage},
    oauth_messages::Challenge,
};
use evidence::Recorder;

/// Settings of a mock authorization server, apart from its script.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct OAuthOptions {
    /// The seed of keys, codes and tokens.
    pub seed: u64,
    /// The clock for issuing and verifying tokens.
    pub clock: Clock,
    /// The listener. Its path is that of the protected resource [default: `/mcp`].
    pub listen: listen::Options,
    /// The public origin [default: that of the listener].
    pub origin: Option<String>,
    /// The recorder of redacted frames.
    pub recorder: Recorder,
    /// The file to which the audit log is appended, as JSON Lines.
    pub audit_file: Option<PathBuf>,
}

impl OAuthOptions {
    /// The same with this seed.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The same with this clock.
    #[must_use]
    pub fn with_clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// The same at this address.
    #[must_use]
    pub fn with_listen(mut self, listen: listen::Options) -> Self {
        self.listen = listen;
        self
    }

    /// The same with frames going to this recorder.
    #[must_use]
    pub fn with_recorder(mut self, recorder: Recorder) -> Self {
        self.recorder = recorder;
        self
    }

    /// The same with the audit log appended to this file.
    #[must_use]
    pub fn with_audit_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.audit_file = Some(path.into());
        self
    }
}

/// Error of starting a mock authorization server.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// The listener failed.
    #[error("could not start the authorization server")]
    Listen(#[source] listen::StartError),
    /// A server on a Unix socket has no URL without an origin.
    #[error("an authorization server on a Unix socket needs an origin")]
    NoOrigin,
    /// The audit file could not be opened.
    #[error("could not open the file of the audit log")]
    Record(#[source] io::Error),
    /// The script is invalid.
    #[error("invalid authorization server script: {0}")]
    Script(String),
}

/// A running mock authorization server, with a protected resource of its own. Dropping it stops it.
#[derive(Debug)]
pub struct OAuthMock {
    server: Arc<Server>,
    guard: Guard,
    listening: listen::Server<AuthorizationServer>,
}

impl OAuthMock {
    /// Starts a server.
    ///
    /// # Errors
    /// If it cannot listen, if its audit file cannot be opened, or if its script is invalid.
    pub async fn start(script: AuthScript, options: OAuthOptions) -> Result<Self, StartError> {
        // The service needs the port, which is known once it is bound.
        let service = Arc::new(OnceLock::<OAuthService>::new());
        let (shared, recorder) = (Arc::clone(&service), options.recorder.clone());
        let listening = listen::Server::launch(options.listen, resource::PATH, recorder.clone(), move |_, _| {
            move |exchange, body| routes::serve(Arc::clone(&shared), recorder.clone(), exchange, body)
        })
        .await
        .map_err(StartError::Listen)?;
        let url = listening.url();
        let bound = url::Url::parse(&url).ok().filter(|_| listening.address().tcp().is_some());
        let origin = match options.origin {
            Some(origin) => origin,
            None => bound.map(|url| url.origin().ascii_serialization()).ok_or(StartError::NoOrigin)?,
        };
        let path = listening.path().to_owned();
        let audit_file = options.audit_file.as_deref();
        let server = Arc::new(Server::new(script, origin.clone(), options.seed, options.clock, audit_file)?);
        let guard = Guard::new(&server, &format!("{origin}{path}"));
        // This is the only place that sets it.
        let _ = service.set(OAuthService { server: Arc::clone(&server), guard: guard.clone(), path });
        Ok(Self { server, guard, listening })
    }

    /// The issuer identifier.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.server.issuer
    }

    /// Scheme, host and port.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.server.origin
    }

    /// The URL of the server's own protected resource: a small MCP server that lists one tool, and calls it.
    #[must_use]
    pub fn protected(&self) -> &str {
        self.guard.resource()
    }

    /// The certificate that clients have to trust, in PEM; `None` without TLS.
    #[must_use]
    pub fn certificate_pem(&self) -> Option<&str> {
        self.listening.certificate_pem()
    }

    /// Creates a guard for another resource with this URL. From now on, clients that name no resource get tokens for
    /// it.
    #[must_use]
    pub fn guard(&self, resource: &str) -> Guard {
        Guard::new(&self.server, resource)
    }

    /// After this number of accepted requests with a token, the protected resources move to another authorization
    /// server: they name it in their metadata and accept only its tokens.
    pub fn hand_over_after(&self, requests: u32, successor: &Self) {
        if self.server.successor.set((requests, Arc::clone(&successor.server))).is_err() {
            tracing::warn!("the authorization server already has a successor");
        }
    }

    /// The guard of an MCP mock at this URL.
    pub(crate) fn request_guard(&self, resource: &str) -> Arc<dyn RequestGuard> {
        Arc::new(self.guard(resource))
    }

    /// The actions of clients so far.
    #[must_use]
    pub fn audit(&self) -> Vec<AuditEntry> {
        self.server.audit.entries()
    }

    /// Waits until the actions of clients match; returns whether they did within the timeout.
    pub async fn until(&self, limit: Duration, fits: impl Fn(&[AuditEntry]) -> bool) -> bool {
        let mut count = self.server.audit.watch();
        let waited = tokio::time::timeout(limit, async {
            while !fits(&self.audit()) {
                // The sender lives as long as the server, which lives as long as `self`.
                if count.changed().await.is_err() {
                    break;
                }
            }
        });
        waited.await.is_ok()
    }

    /// The clock.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.server.clock
    }

    /// An ID token of the identity provider for the user of the script; `None` without an identity provider.
    #[must_use]
    pub fn id_token(&self) -> Option<String> {
        let (provider, issuer) = self.server.provider()?;
        let now = self.server.clock.seconds();
        let claims = json!({
            "sub": provider.subject, "email": provider.subject, "aud": provider.client_id, "iat": now, "exp": now + 3_600,
        });
        self.assertion(&issuer, claims)
    }

    /// An assertion signed with the key of a trusted issuer; `None` if the mock does not have the key. Adds a missing
    /// `iss`.
    #[must_use]
    pub fn assertion(&self, issuer: &str, mut claims: Value) -> Option<String> {
        let trusted = self.server.trusted.iter().find(|trusted| trusted.issuer == issuer)?;
        if claims.get("iss").is_none() && claims.is_object() {
            claims["iss"] = Value::from(issuer);
        }
        Some(trusted.signing.as_ref()?.sign("JWT", &claims))
    }

    /// Revokes every access and refresh token of a client, as an administrator would.
    pub fn revoke_client(&self, client: &str) {
        self.server.state().revoke_client(client);
    }

    /// Removes a client, as servers do with old registrations.
    pub fn forget_client(&self, client: &str) {
        self.server.state().clients.remove(client);
    }

    /// Stops the server, and returns when every connection is closed.
    pub async fn stop(self) {
        self.listening.stop().await;
    }

    pub(crate) fn server(&self) -> &Arc<Server> {
        &self.server
    }
}
