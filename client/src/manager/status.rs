//! The status of a server.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The status of a server. Each change is reported as [`crate::ClientEventKind::Status`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "status")]
#[non_exhaustive]
pub enum Status {
    /// Disabled in the configuration.
    Disabled,
    /// Starting, or waiting for the next attempt.
    Connecting,
    /// Connected.
    Connected,
    /// Starting it failed, or it disconnected too often.
    Failed {
        /// The last error.
        reason: String,
    },
    /// The user has to log in.
    NeedsAuth,
    /// The authorization server requires a registered client, and does not support dynamic registration.
    NeedsClientRegistration,
    /// Not connected. The next use starts it.
    Disconnected,
}

impl Status {
    /// The name in JSON.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Connecting => "connecting",
            Self::Connected => "connected",
            Self::Failed { .. } => "failed",
            Self::NeedsAuth => "needs_auth",
            Self::NeedsClientRegistration => "needs_client_registration",
            Self::Disconnected => "disconnected",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed { reason } => write!(f, "failed: {reason}"),
            other => f.write_str(other.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_str_matches_json() {
        let all = [
            Status::Disabled,
            Status::Connecting,
            Status::Connected,
            Status::Failed { reason: "gone".into() },
            Status::NeedsAuth,
            Status::NeedsClientRegistration,
            Status::Disconnected,
        ];
        for status in all {
            let json = serde_json::to_value(&status).unwrap();
            assert_eq!(json["status"], status.as_str());
            assert_eq!(serde_json::from_value::<Status>(json).unwrap(), status);
        }
    }
}
