//! The token response says another lifetime than the token has.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Deception;

/// The token response says another lifetime than the token has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct ExpiryMisstated {
    /// The value of `expires_in`: a number, or what no number is.
    pub expires_in: Value,
}

impl Deception for ExpiryMisstated {
    fn token_response(&self, body: &mut Map<String, Value>) {
        body.insert("expires_in".to_owned(), self.expires_in.clone());
    }
}
