//! Starting an MCP mock over HTTP, with or without a guard.

use std::sync::Arc;

use super::{
    Options, Server, StartError,
    protection::{Protection, RequestGuard},
};
use crate::{engine::Engine, script::Script};
use evidence::Recorder;

/// A transport server of MCP over HTTP.
pub(crate) trait TransportServer: Sized {
    /// Starts a server with this transport.
    fn start_behind(
        engine: Engine,
        recorder: Recorder,
        options: Options,
        protection: Protection,
    ) -> impl Future<Output = Result<Server<Self>, StartError>> + Send;
}

#[expect(private_bounds, reason = "only this crate implements transports")]
impl<F: TransportServer> Server<F> {
    /// Starts a server on a port of 127.0.0.1 that the system chooses.
    ///
    /// # Errors
    /// When no port can be bound.
    pub async fn start(script: Script, revision: &str, seed: u64, recorder: Recorder) -> Result<Self, StartError> {
        Self::start_with(script, revision, seed, recorder, Options::default()).await
    }

    /// Starts a server with these listener settings.
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

    pub(crate) async fn start_open(engine: Engine, recorder: Recorder, options: Options) -> Result<Self, StartError> {
        F::start_behind(engine, recorder, options, Protection::Open).await
    }

    /// Starts a server with a guard for its URL.
    pub(crate) async fn start_guarded(
        engine: Engine,
        recorder: Recorder,
        options: Options,
        guard: impl FnOnce(&str) -> Arc<dyn RequestGuard>,
    ) -> Result<Self, StartError> {
        let protection = Protection::guarded();
        let server = F::start_behind(engine, recorder, options, protection.clone()).await?;
        protection.complete(guard(&server.url()));
        Ok(server)
    }
}
