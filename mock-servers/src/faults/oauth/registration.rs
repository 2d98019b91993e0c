//! Faults of dynamic client registration.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{faults::FaultHooks, oauth_messages::OAuthResponse};

/// Rejects the registration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct RegistrationRefused {
    /// The status.
    pub status: u16,
    /// The error, such as `invalid_redirect_uri`, `invalid_client_metadata` or `access_denied`.
    pub error: String,
}

impl FaultHooks for RegistrationRefused {
    fn reject_registration(&self) -> Option<OAuthResponse> {
        Some(OAuthResponse::json(self.status, &json!({"error": self.error})).uncached())
    }
}

/// Registers the client, but omits its `client_id` from the response.
#[derive(JsonSchema)]
pub(super) struct RegistrationWithoutId;

impl FaultHooks for RegistrationWithoutId {
    fn registration(&self, body: &mut Map<String, Value>) {
        body.remove("client_id");
    }
}

/// Responds with other client metadata than the client requested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct ChangedRegistration {
    /// The changed members.
    pub with: Map<String, Value>,
}

impl FaultHooks for ChangedRegistration {
    fn registration(&self, body: &mut Map<String, Value>) {
        body.extend(self.with.clone());
    }
}
