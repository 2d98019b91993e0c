//! Which of the fronts a server stands behind.

use std::time::Duration;

use tokio::io::DuplexStream;

use super::duplex::DuplexMock;
use crate::{
    engine::Engine,
    faults::Exit,
    http::HttpMock,
    listen::{Address, FaultSwitch, Options, StartError},
    oauth::OAuthMock,
    record::Recorder,
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
    Duplex(DuplexMock),
}

/// The same for whichever front it is.
macro_rules! each {
    ($front:expr, $mock:ident => $what:expr) => {
        match $front {
            Front::Http($mock) => $what,
            Front::Sse($mock) => $what,
            Front::Duplex($mock) => $what,
        }
    };
}

/// All that a front is told before it starts.
pub(super) struct Description {
    pub(super) engine: Engine,
    pub(super) recorder: Recorder,
    pub(super) listen: Options,
}

impl Description {
    pub(super) async fn start(self, transport: Transport) -> Result<Front, StartError> {
        let Self { engine, recorder, listen } = self;
        Ok(match transport {
            Transport::Http => Front::Http(HttpMock::start_open(engine, recorder, listen).await?),
            Transport::Sse => Front::Sse(SseMock::start_open(engine, recorder, listen).await?),
        })
    }

    pub(super) fn start_duplex(self) -> (Front, DuplexStream) {
        let (mock, stream) = DuplexMock::start(self.engine, self.recorder);
        (Front::Duplex(mock), stream)
    }

    pub(super) async fn start_protected(
        self,
        transport: Transport,
        authority: &OAuthMock,
    ) -> Result<Front, StartError> {
        let Self { engine, recorder, listen } = self;
        Ok(match transport {
            Transport::Http => Front::Http(HttpMock::start_guarded(engine, recorder, listen, authority).await?),
            Transport::Sse => Front::Sse(SseMock::start_guarded(engine, recorder, listen, authority).await?),
        })
    }
}

impl Front {
    pub(super) fn url(&self) -> String {
        match self {
            Self::Http(mock) => mock.url(),
            Self::Sse(mock) => mock.url(),
            Self::Duplex(_) => "duplex:".to_owned(),
        }
    }

    pub(super) fn address(&self) -> Option<&Address> {
        match self {
            Self::Http(mock) => Some(mock.address()),
            Self::Sse(mock) => Some(mock.address()),
            Self::Duplex(_) => None,
        }
    }

    pub(super) fn faults(&self) -> &FaultSwitch {
        each!(self, mock => mock.faults())
    }

    pub(super) fn certificate_pem(&self) -> Option<&str> {
        match self {
            Self::Http(mock) => mock.certificate_pem(),
            Self::Sse(mock) => mock.certificate_pem(),
            Self::Duplex(_) => None,
        }
    }

    pub(super) async fn until_idle(&self, limit: Duration) {
        each!(self, mock => mock.until_idle(limit).await);
    }

    pub(super) async fn stopped(&self) {
        each!(self, mock => mock.stopped().await);
    }

    pub(super) fn exit(&self) -> Option<Exit> {
        each!(self, mock => mock.exit())
    }

    pub(super) async fn stop(self) {
        each!(self, mock => mock.stop().await);
    }
}
