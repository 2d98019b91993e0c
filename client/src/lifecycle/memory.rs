//! Information about a server that speeds up the next connection.

use evidence::Transport;
use serde::{Deserialize, Serialize};

use crate::{
    config::{Endpoint, RevisionChoice, ServerConfig},
    error::ConnectFailure,
    revision::Era,
};

/// How a server was reached. A host program stores it and passes it to the next connection. It is only a hint: if it
/// no longer applies, all transports are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Remembered {
    /// The transport.
    pub transport: Transport,
    /// The era of the negotiated revision.
    pub era: Era,
}

impl Remembered {
    /// Whether it changes the order of attempts.
    pub(super) fn helps(self, config: &ServerConfig) -> bool {
        let over_sse = matches!(config.endpoint, Endpoint::Auto(_)) && self.transport == Transport::HttpSse;
        over_sse || (config.protocol == RevisionChoice::Auto && self.era == Era::Legacy)
    }
}

/// Whether a failure is independent of the selected transport.
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
