//! Registration says that something else was registered than was asked for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Deception;

/// Registration says that something else was registered than was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct ChangedRegistration {
    /// The members that it says.
    pub with: Map<String, Value>,
}

impl Deception for ChangedRegistration {
    fn registration(&self, body: &mut Map<String, Value>) {
        body.extend(self.with.clone());
    }
}
