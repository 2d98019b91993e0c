//! How a server is doing, as people and programs are told.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How a server is doing. Each change is an event ([`crate::Happening::Status`]).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "status")]
#[non_exhaustive]
pub enum Status {
    /// Its configuration switches it off.
    Disabled,
    /// It is being started, or waited for before it is started again.
    Connecting,
    /// It can be used.
    Connected,
    /// It could not be started, or was lost too often.
    Failed {
        /// Why, in words.
        reason: String,
    },
    /// It wants the user to log in.
    NeedsAuth,
    /// It wants a client that its authorization server knows, and this one cannot register itself.
    NeedsClientRegistration,
    /// It is not connected; whoever wants something of it starts it.
    Disconnected,
}

impl Status {
    /// Its name, as in JSON.
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
    fn has_the_same_name_in_json_as_in_words() {
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
