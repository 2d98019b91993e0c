//! A fake OAuth authorization server, and a guard that makes any MCP mock a protected resource of it.
//!
//! The server keeps to the standards as far as its [`AuthScript`] lets it, and tells every lie that the script asks for.
//! What each client did is in its audit log, so that a check can judge it afterwards; the log holds no secrets. Nothing
//! here knows MCP beyond the method and the tool of a request, and nothing here is fit to protect anything real: keys,
//! codes and tokens follow from a seed.
//!
//! ```
//! use mcp_workbench_mock_servers::oauth::{AuthScript, OAuthMock, OAuthOptions};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mock = OAuthMock::start(AuthScript::default(), OAuthOptions::default()).await?;
//! let metadata = reqwest::get(format!("{}/.well-known/oauth-authorization-server", mock.issuer())).await?;
//! assert_eq!(metadata.json::<serde_json::Value>().await?["issuer"], mock.issuer());
//! assert_eq!(mock.audit().len(), 1);
//! mock.stop().await;
//! # Ok(())
//! # }
//! ```

mod access;
mod answer;
pub mod audit;
mod authorize;
mod bounded;
mod client_auth;
mod clock;
mod discovery;
mod documents;
mod dpop;
mod front;
mod guard;
mod jwt;
mod keys;
pub mod lies;
mod params;
mod register;
mod resource;
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
    front::AuthorizationServer,
    guard::{Challenge, Granted, Guard},
    keys::SigningKey,
    script::AuthScript,
};
use self::{front::Site, server::Server};
use crate::{listen, record::Recorder};

/// How a fake authorization server runs; what it does is in its script.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct OAuthOptions {
    /// What keys, codes and tokens follow from.
    pub seed: u64,
    /// The time that tokens are issued and judged by.
    pub clock: Clock,
    /// Where it listens. The path is that of its own protected resource; absent: `/mcp`.
    pub listen: listen::Options,
    /// Scheme, host and port under which clients reach it, where that is not what it listens on.
    pub origin: Option<String>,
    /// Where the frames go that cross the wire, scrubbed.
    pub recorder: Recorder,
    /// A file to which the audit log is appended, as JSON Lines.
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

/// Why a fake authorization server could not be started.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// It could not listen.
    #[error("could not start the authorization server")]
    Listen(#[source] listen::StartError),
    /// It listens on a Unix socket and has no origin, so no URL could lead to it.
    #[error("an authorization server on a Unix socket needs an origin")]
    NoOrigin,
    /// The file of its audit log could not be opened.
    #[error("could not open the file of the audit log")]
    Record(#[source] io::Error),
    /// Its script does not make sense.
    #[error("the script of the authorization server makes no sense: {0}")]
    Script(String),
}

/// A running fake authorization server, with a protected resource of its own. Dropping it stops it.
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
    /// When it cannot listen, when its audit file cannot be opened, or when its script makes no sense.
    pub async fn start(script: AuthScript, options: OAuthOptions) -> Result<Self, StartError> {
        // The site is complete when the port is known, which is when it is bound.
        let site = Arc::new(OnceLock::<Site>::new());
        let (shared, recorder) = (Arc::clone(&site), options.recorder.clone());
        let listening = listen::Server::launch(options.listen, resource::PATH, recorder.clone(), move |_, _| {
            move |exchange, body| front::serve(Arc::clone(&shared), recorder.clone(), exchange, body)
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
        // Nobody else sets it.
        let _ = site.set(Site { server: Arc::clone(&server), guard: guard.clone(), path });
        Ok(Self { server, guard, listening })
    }

    /// The issuer: what the metadata says, and what it is found by.
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

    /// The certificate that a client has to trust, in PEM; none without TLS.
    #[must_use]
    pub fn certificate_pem(&self) -> Option<&str> {
        self.listening.certificate_pem()
    }

    /// A guard for another resource, which has this URL. From now on a client that names no resource gets tokens for
    /// this one.
    #[must_use]
    pub fn guard(&self, resource: &str) -> Guard {
        Guard::new(&self.server, resource)
    }

    /// What clients did so far.
    #[must_use]
    pub fn audit(&self) -> Vec<AuditEntry> {
        self.server.audit.entries()
    }

    /// Returns when what clients did fits, and after this time at the latest; says which it was.
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

    /// An ID token of the identity provider for the user of the script, as a client would have it from signing on;
    /// none where there is no identity provider.
    #[must_use]
    pub fn id_token(&self) -> Option<String> {
        let (provider, issuer) = self.server.provider()?;
        let now = self.server.clock.seconds();
        let claims = json!({
            "sub": provider.subject, "email": provider.subject, "aud": provider.client_id, "iat": now, "exp": now + 3_600,
        });
        self.assertion(&issuer, claims)
    }

    /// An assertion of a trusted issuer whose key the mock holds; none where it holds no such key. `iss` is filled in
    /// where the claims do not have it.
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

    /// Forgets a client, as servers do with those that registered long ago.
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
