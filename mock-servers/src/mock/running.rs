//! A running mock server of any transport.

use std::time::Duration;

use tokio::io::DuplexStream;

use super::duplex::DuplexMock;
use crate::{
    engine::Engine,
    faults::Exit,
    http::HttpMock,
    listen::{Address, FaultHandle, Options, StartError},
    oauth::OAuthMock,
    sse::SseMock,
};
use evidence::Recorder;

/// HTTP transport of a mock server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum HttpTransport {
    /// Streamable HTTP, of 2025-03-26 and later.
    #[default]
    Http,
    /// HTTP+SSE, of 2024-11-05.
    Sse,
}

/// A running server.
#[derive(Debug)]
pub(super) enum RunningServer {
    Http(HttpMock),
    Sse(SseMock),
    Duplex(DuplexMock),
}

/// Calls the same method for every transport.
macro_rules! each {
    ($front:expr, $mock:ident => $what:expr) => {
        match $front {
            RunningServer::Http($mock) => $what,
            RunningServer::Sse($mock) => $what,
            RunningServer::Duplex($mock) => $what,
        }
    };
}

/// The configuration of a server before it starts.
pub(super) struct Description {
    pub(super) engine: Engine,
    pub(super) recorder: Recorder,
    pub(super) listen: Options,
}

impl Description {
    pub(super) async fn start(self, transport: HttpTransport) -> Result<RunningServer, StartError> {
        let Self { engine, recorder, listen } = self;
        Ok(match transport {
            HttpTransport::Http => RunningServer::Http(HttpMock::start_open(engine, recorder, listen).await?),
            HttpTransport::Sse => RunningServer::Sse(SseMock::start_open(engine, recorder, listen).await?),
        })
    }

    pub(super) fn start_duplex(self) -> (RunningServer, DuplexStream) {
        let (mock, stream) = DuplexMock::start(self.engine, self.recorder);
        (RunningServer::Duplex(mock), stream)
    }

    pub(super) async fn start_protected(
        self,
        transport: HttpTransport,
        authority: &OAuthMock,
    ) -> Result<RunningServer, StartError> {
        let Self { engine, recorder, listen } = self;
        let guard = |url: &str| authority.request_guard(url);
        Ok(match transport {
            HttpTransport::Http => RunningServer::Http(HttpMock::start_guarded(engine, recorder, listen, guard).await?),
            HttpTransport::Sse => RunningServer::Sse(SseMock::start_guarded(engine, recorder, listen, guard).await?),
        })
    }
}

impl RunningServer {
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

    pub(super) fn faults(&self) -> &FaultHandle {
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
