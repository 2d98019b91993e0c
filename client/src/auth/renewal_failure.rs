//! Failed renewals, which are shared between tasks and processes through the file of a lock.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::credentials::{Credentials, hex};

/// How long a temporary failure is shared before another attempt.
pub const TEMPORARY_FAILURE_LIFETIME: Duration = Duration::from_secs(5);

/// How long a permanent failure is shared. New credentials end it.
pub const PERMANENT_FAILURE_LIFETIME: Duration = Duration::from_secs(300);

/// A failed renewal. It is shared with all waiting tasks and processes, so it consists of strings, which must not
/// contain secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct RenewalFailure {
    /// A stable kebab-case name of the kind.
    pub kind: String,
    /// The message.
    pub message: String,
    /// Whether the failure is permanent, so that the user has to log in.
    pub permanent: bool,
}

/// A failure in the file of a lock.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SharedFailure {
    failure: RenewalFailure,
    /// In milliseconds since 1970.
    pub(super) at: u64,
    /// The fingerprint of the credentials, because a failure does not apply to new ones.
    fingerprint: String,
}

impl SharedFailure {
    pub(super) fn new(failure: RenewalFailure, credentials: &Credentials) -> Self {
        Self { failure, at: now(), fingerprint: fingerprint(credentials) }
    }

    /// The failure, if it still applies to these credentials.
    pub(super) fn if_current(self, credentials: &Credentials) -> Option<RenewalFailure> {
        let lifetime = if self.failure.permanent { PERMANENT_FAILURE_LIFETIME } else { TEMPORARY_FAILURE_LIFETIME };
        // If the clock was set back, the failure no longer applies.
        let age = now().checked_sub(self.at).map(Duration::from_millis)?;
        (age < lifetime && self.fingerprint == fingerprint(credentials)).then_some(self.failure)
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Identifies credentials by 64 bits of a hash of the tokens.
pub(super) fn fingerprint(credentials: &Credentials) -> String {
    let mut hash = Sha256::new();
    hash.update(credentials.access_token.expose());
    hash.update([0]);
    hash.update(credentials.refresh_token.as_ref().map_or("", |token| token.expose()));
    hex(&hash.finalize()[..8])
}
