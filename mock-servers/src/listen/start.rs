//! Starting a mock that speaks MCP over HTTP, open or behind a guard, whichever front it has.

use super::{Options, Server, StartError, protection::Protection};
use crate::{engine::Engine, oauth::OAuthMock, record::Recorder, script::Script};

/// What speaks MCP over HTTP.
pub(crate) trait Front: Sized {
    /// Starts a server with this front.
    fn start_behind(
        engine: Engine,
        recorder: Recorder,
        options: Options,
        protection: Protection,
    ) -> impl Future<Output = Result<Server<Self>, StartError>> + Send;
}

#[expect(private_bounds, reason = "the fronts are all here: nobody elsewhere makes another")]
impl<F: Front> Server<F> {
    /// Starts a server on a port of 127.0.0.1 that the system chooses.
    ///
    /// # Errors
    /// When no port can be bound.
    pub async fn start(script: Script, revision: &str, seed: u64, recorder: Recorder) -> Result<Self, StartError> {
        Self::start_with(script, revision, seed, recorder, Options::default()).await
    }

    /// Starts a server that listens as these options say.
    ///
    /// # Errors
    /// When the address cannot be bound, or the path or the certificate cannot be used.
    pub async fn start_with(
        script: Script,
        revision: &str,
        seed: u64,
        recorder: Recorder,
        options: Options,
    ) -> Result<Self, StartError> {
        Self::start_open(Engine::new(script, revision, seed), recorder, options).await
    }

    /// Starts a server that lets requests with a token of this authorization server pass and challenges the others: those
    /// for streams and those with messages. It serves the metadata of the resource that it is (RFC 9728).
    ///
    /// # Errors
    /// When the address cannot be bound, or the path or the certificate cannot be used.
    pub async fn start_protected(
        script: Script,
        revision: &str,
        seed: u64,
        recorder: Recorder,
        options: Options,
        authority: &OAuthMock,
    ) -> Result<Self, StartError> {
        Self::start_guarded(Engine::new(script, revision, seed), recorder, options, authority).await
    }

    pub(crate) async fn start_open(engine: Engine, recorder: Recorder, options: Options) -> Result<Self, StartError> {
        F::start_behind(engine, recorder, options, Protection::Open).await
    }

    pub(crate) async fn start_guarded(
        engine: Engine,
        recorder: Recorder,
        options: Options,
        authority: &OAuthMock,
    ) -> Result<Self, StartError> {
        let protection = Protection::guarded();
        let server = F::start_behind(engine, recorder, options, protection.clone()).await?;
        protection.complete(authority.guard(&server.url()));
        Ok(server)
    }
}
