//! Which of the fronts a server stands behind.

use std::time::Duration;

use crate::{
    http::HttpMock,
    listen::{Address, Options, StartError},
    record::Recorder,
    script::Script,
    sse::SseMock,
};

/// How messages travel between a client and a server that listens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Transport {
    /// Streamable HTTP, of 2025-03-26 and later.
    #[default]
    Http,
    /// HTTP+SSE, of 2024-11-05.
    Sse,
}

/// A front at work.
#[derive(Debug)]
pub(super) enum Front {
    Http(HttpMock),
    Sse(SseMock),
}

/// The same for whichever front it is.
macro_rules! each {
    ($front:expr, $mock:ident => $what:expr) => {
        match $front {
            Front::Http($mock) => $what,
            Front::Sse($mock) => $what,
        }
    };
}

impl Front {
    pub(super) async fn start(
        transport: Transport,
        script: Script,
        revision: &str,
        seed: u64,
        recorder: Recorder,
        options: Options,
    ) -> Result<Self, StartError> {
        Ok(match transport {
            Transport::Http => Self::Http(HttpMock::start_with(script, revision, seed, recorder, options).await?),
            Transport::Sse => Self::Sse(SseMock::start_with(script, revision, seed, recorder, options).await?),
        })
    }

    pub(super) fn url(&self) -> String {
        each!(self, mock => mock.url())
    }

    pub(super) fn address(&self) -> &Address {
        each!(self, mock => mock.address())
    }

    pub(super) fn certificate_pem(&self) -> Option<&str> {
        each!(self, mock => mock.certificate_pem())
    }

    pub(super) async fn until_idle(&self, limit: Duration) {
        each!(self, mock => mock.until_idle(limit).await);
    }

    pub(super) async fn stopped(&self) {
        each!(self, mock => mock.stopped().await);
    }

    pub(super) async fn stop(self) {
        each!(self, mock => mock.stop().await);
    }
}
