//! The token is meant for another resource than the client asked for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Deception;

/// The token is meant for another resource than the client asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct ForeignAudience {
    /// The other one.
    pub audience: String,
}

impl Deception for ForeignAudience {
    fn claims(&self, claims: &mut Map<String, Value>) {
        claims.insert("aud".to_owned(), self.audience.clone().into());
    }
}
