//! The transport of a connection.

use std::sync::Arc;

use serde_json::Value;

use super::{
    defect::{Defect, Flaw},
    fault::Fault,
    http::Http,
    http_sse::HttpSse,
    inbox::Inbox,
    setup::Setup,
    stdio::Stdio,
};

/// An open transport.
pub(crate) enum Link {
    Stdio(Box<Stdio>),
    Http(Arc<Http>),
    Sse(HttpSse),
}

impl Link {
    /// Opens the transport of an endpoint.
    pub(crate) fn open(endpoint: &Value, setup: &Setup, inbox: &Arc<Inbox>, flaw: Flaw) -> Result<Self, Fault> {
        match endpoint["transport"].as_str() {
            Some("stdio") => Ok(Self::Stdio(Box::new(Stdio::spawn(endpoint, setup, inbox, flaw)?))),
            Some("sse") if !flaw.is(Defect::SpeaksNoSse) => Ok(Self::Sse(HttpSse::open(endpoint, inbox, flaw))),
            Some("streamable-http") => Ok(Self::Http(Http::new(endpoint, setup, inbox, flaw))),
            _ => Err(Fault::new("invalid-config", format!("this client does not speak the transport of {endpoint}"))),
        }
    }

    /// Sends a message. Responses to requests arrive in the inbox.
    pub(crate) async fn send(&self, message: Value) -> Result<(), Fault> {
        let flaw = match self {
            Self::Stdio(stdio) => stdio.flaw,
            Self::Http(http) => http.flaw,
            Self::Sse(sse) => sse.flaw,
        };
        let name = message["method"].as_str().unwrap_or_default().to_owned();
        for message in flaw.altered(&name, message) {
            match self {
                Self::Stdio(stdio) => stdio.send(&message).await?,
                Self::Http(http) => http.send(message).await?,
                Self::Sse(sse) => sse.send(&message).await?,
            }
        }
        Ok(())
    }

    /// Cancels a request by closing its stream, if the transport requires that (2026-07-28, streamable-http, cancellation).
    pub(crate) async fn close_request(&self, id: u64, modern: bool) -> bool {
        match self {
            Self::Http(http) if modern => http.close_request(id).await,
            _ => false,
        }
    }

    /// Closes the transport, and stops a child process.
    pub(crate) async fn close(&self) {
        match self {
            Self::Stdio(stdio) => stdio.close().await,
            Self::Http(http) => http.close().await,
            Self::Sse(sse) => sse.close(),
        }
    }
}
