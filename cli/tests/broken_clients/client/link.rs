//! The way to a server, whichever it is.

use std::sync::Arc;

use serde_json::Value;

use super::{defect::Flaw, fault::Fault, http::Http, inbox::Inbox, setup::Setup, stdio::Stdio};

/// A transport that is open.
pub(crate) enum Link {
    Stdio(Box<Stdio>),
    Http(Arc<Http>),
}

impl Link {
    /// Opens the way to an endpoint of the context.
    pub(crate) fn open(endpoint: &Value, setup: &Setup, inbox: &Arc<Inbox>, flaw: Flaw) -> Result<Self, Fault> {
        match endpoint["transport"].as_str() {
            Some("stdio") => Ok(Self::Stdio(Box::new(Stdio::spawn(endpoint, setup, inbox, flaw)?))),
            Some("streamable-http") => Ok(Self::Http(Arc::new(Http::new(endpoint, setup, inbox, flaw)))),
            _ => Err(Fault::new("invalid-config", format!("this client does not speak the transport of {endpoint}"))),
        }
    }

    /// Sends one message. Over HTTP this is over when the server has taken it, but for requests: their answers come
    /// through the inbox, as all answers do.
    pub(crate) async fn send(&self, message: Value) -> Result<(), Fault> {
        match self {
            Self::Stdio(stdio) => stdio.send(&message).await,
            Self::Http(http) => http.send(message).await,
        }
    }

    /// Gives a request up by closing its stream, if that is the way to do it (2026-07-28, streamable-http, cancellation).
    pub(crate) async fn hang_up(&self, id: u64, modern: bool) -> bool {
        match self {
            Self::Http(http) if modern => http.hang_up(id).await,
            _ => false,
        }
    }

    /// Ends the transport, and the server where it is a process of ours.
    pub(crate) async fn close(&self) {
        match self {
            Self::Stdio(stdio) => stdio.close().await,
            Self::Http(http) => http.close().await,
        }
    }
}
