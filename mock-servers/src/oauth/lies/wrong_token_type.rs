//! The token is of a type that nobody knows, which clients must not use (RFC 6749 section 7.1).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Deception;

/// The token is of a type that nobody knows, which clients must not use (RFC 6749 section 7.1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct WrongTokenType {
    /// The type: `mac`, say.
    pub token_type: String,
}

impl Deception for WrongTokenType {
    fn token_response(&self, body: &mut Map<String, Value>) {
        body.insert("token_type".to_owned(), self.token_type.clone().into());
    }
}
