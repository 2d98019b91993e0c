//! Faults of the protected resource's challenge.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{faults::FaultHooks, oauth_messages::Challenge};

/// Names a metadata URL in the challenge that is at another origin, at a private address, or not HTTP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct UntrustedMetadataUrl {
    /// The URL.
    pub url: String,
}

impl FaultHooks for UntrustedMetadataUrl {
    fn challenge(&self, challenge: &mut Challenge) {
        challenge.set_metadata_url(&self.url);
    }
}

/// Sends a `WWW-Authenticate` header that its grammar does not allow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct MalformedChallenge {
    /// The value of the header.
    pub value: String,
}

impl FaultHooks for MalformedChallenge {
    fn challenge(&self, challenge: &mut Challenge) {
        challenge.replace(Some(&self.value));
    }
}

/// Rejects a request without `WWW-Authenticate`, so that clients have to find the metadata themselves.
#[derive(JsonSchema)]
pub(super) struct MissingChallenge;

impl FaultHooks for MissingChallenge {
    fn challenge(&self, challenge: &mut Challenge) {
        challenge.replace(None);
    }
}
