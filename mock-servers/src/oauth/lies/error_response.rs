//! The authorization response is this error, whatever the user decided.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Deception, Redirect};

/// The authorization response is this error, whatever the user decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct ErrorResponse {
    /// The error: `server_error` or `temporarily_unavailable`, say.
    pub error: String,
    /// Its description, which may hold anything.
    #[serde(default)]
    pub description: String,
}

impl Deception for ErrorResponse {
    fn redirect(&self, redirect: &mut Redirect) {
        redirect.remove("code");
        redirect.set("error", self.error.clone());
        if !self.description.is_empty() {
            redirect.set("error_description", self.description.clone());
        }
    }
}
