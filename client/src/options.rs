//! What a host program brings to a connection, beside the configuration of the server.
//!
//! This module owns the seams between a connection and its surroundings. What a user writes about a server is a
//! [`crate::ServerConfig`] instead.

use crate::event::EventSink;

/// What a host program brings to a connection. Clones share it: one set of options may serve many connections.
#[derive(Debug, Clone, Default)]
pub struct ConnectOptions {
    /// Where events go, from the first moment on.
    pub events: EventSink,
}

impl From<EventSink> for ConnectOptions {
    fn from(events: EventSink) -> Self {
        Self { events }
    }
}
