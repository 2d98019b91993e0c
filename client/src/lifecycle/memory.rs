//! What is worth remembering about a server between two connections: it spares the next one what the last one tried in
//! vain.

use serde::{Deserialize, Serialize};

use crate::{
    config::{Endpoint, ProtocolChoice, ServerConfig},
    error::ConnectFailure,
    event::TransportKind,
    revision::Era,
};

/// How a server was reached. A host program keeps it beside the server's configuration and hands it to the next
/// connection; it is only ever a hint: where it no longer holds, everything is tried anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Remembered {
    /// The transport that was chosen.
    pub transport: TransportKind,
    /// The era of the revision that both spoke.
    pub era: Era,
}

impl Remembered {
    /// Whether the order of tries is another with it.
    pub(super) fn helps(self, config: &ServerConfig) -> bool {
        let over_sse = matches!(config.endpoint, Endpoint::Auto(_)) && self.transport == TransportKind::Sse;
        over_sse || (config.protocol == ProtocolChoice::Auto && self.era == Era::Legacy)
    }
}

/// Whether a failure has nothing to do with the way that was tried.
pub(super) fn is_final(failure: &ConnectFailure) -> bool {
    matches!(
        failure,
        ConnectFailure::Config { .. }
            | ConnectFailure::HeadersHelper { .. }
            | ConnectFailure::Spawn { .. }
            | ConnectFailure::NeedsAuth { .. }
            | ConnectFailure::Auth { .. }
            | ConnectFailure::RedirectRefused { .. }
    )
}
