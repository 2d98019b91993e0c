//! Registration fails.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Deception;
use crate::oauth::answer::Answer;

/// Registration fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct RegistrationRefused {
    /// The status.
    pub status: u16,
    /// The error: `invalid_redirect_uri`, `invalid_client_metadata`, `access_denied`.
    pub error: String,
}

impl Deception for RegistrationRefused {
    fn refuse_registration(&self) -> Option<Answer> {
        Some(Answer::json(self.status, &json!({"error": self.error})).uncached())
    }
}
