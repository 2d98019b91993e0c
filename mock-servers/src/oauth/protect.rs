//! MCP mocks as protected resources.

use evidence::Recorder;

use super::OAuthMock;
use crate::{
    engine::Engine,
    listen::{Options, Server, StartError, TransportServer},
    script::Script,
};

#[expect(private_bounds, reason = "all transports are in this crate")]
impl<F: TransportServer> Server<F> {
    /// Starts a server that accepts only requests with a token of this authorization server, for streams and for
    /// messages, and sends a challenge to the others. It serves its resource metadata (RFC 9728).
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
        Self::start_guarded(Engine::new(script, revision, seed), recorder, options, |url| authority.request_guard(url))
            .await
    }
}
