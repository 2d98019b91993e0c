//! The token has fewer scopes than the response says.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Deception;

/// The token has fewer scopes than the response says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct NarrowerScope {
    /// The scopes that it has.
    pub scope: String,
}

impl Deception for NarrowerScope {
    fn claims(&self, claims: &mut Map<String, Value>) {
        claims.insert("scope".to_owned(), self.scope.clone().into());
    }
}
