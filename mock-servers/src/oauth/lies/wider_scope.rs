//! The token response says more scopes than were asked for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Deception;

/// The token response says more scopes than were asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct WiderScope {
    /// The scopes that it says.
    pub scope: String,
}

impl Deception for WiderScope {
    fn token_response(&self, body: &mut Map<String, Value>) {
        body.insert("scope".to_owned(), self.scope.clone().into());
    }
}
