//! Options of the host program for a connection. Settings of a user for one server belong to [`crate::ServerConfig`].

use std::sync::Arc;

use crate::{auth::Authorize, event::EventSink, host::HostLink, lifecycle::Remembered, sandbox::SandboxState};

/// Options of the host program. One set may serve many connections.
#[derive(Debug, Clone, Default)]
pub struct ConnectOptions {
    /// The channel for events.
    pub events: EventSink,
    /// Authorizes HTTP requests. A configured `Authorization` header takes precedence.
    pub authorizer: Option<Arc<dyn Authorize>>,
    /// Handles requests of servers to the user. Without it, the client declares no such capabilities.
    pub host: Option<HostLink>,
    /// The result of an earlier connection ([`crate::Connection::remembered`]), which avoids attempts that failed
    /// then.
    pub remembered: Option<Remembered>,
    /// The sandbox of the host, for servers that declare an interest.
    pub sandbox: Option<SandboxState>,
}

impl From<EventSink> for ConnectOptions {
    fn from(events: EventSink) -> Self {
        Self { events, ..Self::default() }
    }
}
