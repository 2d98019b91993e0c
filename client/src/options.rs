//! What a host program brings to a connection, beside the configuration of the server.
//!
//! This module owns the seams between a connection and its surroundings. What a user writes about a server is a
//! [`crate::ServerConfig`] instead.

use std::sync::Arc;

use crate::{auth::Authorize, event::EventSink, host::HostLink, lifecycle::Remembered, sandbox::SandboxState};

/// What a host program brings to a connection. Clones share it: one set of options may serve many connections.
#[derive(Debug, Clone, Default)]
pub struct ConnectOptions {
    /// Where events go, from the first moment on.
    pub events: EventSink,
    /// What authorizes HTTP requests. A configured `Authorization` header wins over it.
    pub authorizer: Option<Arc<dyn Authorize>>,
    /// What servers may ask of the user, and who answers; without it they may ask nothing.
    pub host: Option<HostLink>,
    /// How the server was reached last time ([`crate::Connection::remembered`]): what was tried in vain then is not tried
    /// first again.
    pub remembered: Option<Remembered>,
    /// The sandbox of the host, for servers that ask to know it.
    pub sandbox: Option<SandboxState>,
}

impl From<EventSink> for ConnectOptions {
    fn from(events: EventSink) -> Self {
        Self { events, ..Self::default() }
    }
}
