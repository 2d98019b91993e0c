//! A mock server as a value: what the tests of a client, or of an agent, start.
//!
//! This module owns how a server is described ([`Builder`]) and held ([`MockServer`]). What it says is the business of
//! the [`crate::engine`], and how it travels that of the fronts.

mod builder;
mod front;

use std::time::Duration;

use self::front::Front;
pub use self::{builder::Builder, front::Transport};
use crate::{frame::Frame, listen::Address, record::Recorder};

/// A mock server that runs. Dropping it stops it.
#[derive(Debug)]
pub struct MockServer {
    front: Front,
    recorder: Recorder,
}

impl MockServer {
    /// Describes a server.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The URL that a client is to be given.
    #[must_use]
    pub fn url(&self) -> String {
        self.front.url()
    }

    /// The address that the server listens on.
    #[must_use]
    pub fn address(&self) -> &Address {
        self.front.address()
    }

    /// The certificate that a client has to trust, in PEM; none without TLS.
    #[must_use]
    pub fn certificate_pem(&self) -> Option<&str> {
        self.front.certificate_pem()
    }

    /// What crossed the wire so far, scrubbed of secrets.
    #[must_use]
    pub fn frames(&self) -> Vec<Frame> {
        self.recorder.frames()
    }

    /// Returns when every client has hung up, and after this time at the latest: what a client did last is then in the
    /// record.
    pub async fn until_idle(&self, limit: Duration) {
        self.front.until_idle(limit).await;
    }

    /// Returns when the server has stopped, because its script says so: an `exit` fault, say.
    pub async fn stopped(&self) {
        self.front.stopped().await;
    }

    /// Stops the server, and returns when every connection is closed.
    pub async fn stop(self) {
        self.front.stop().await;
    }
}
