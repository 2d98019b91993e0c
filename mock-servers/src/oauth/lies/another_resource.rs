//! The metadata of the resource is that of another one, which clients must refuse (RFC 9728 section 3.3).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Deception;

/// The metadata of the resource is that of another one, which clients must refuse (RFC 9728 section 3.3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct AnotherResource {
    /// The other one.
    pub resource: String,
}

impl Deception for AnotherResource {
    fn resource_metadata(&self, document: &mut Map<String, Value>) {
        document.insert("resource".to_owned(), self.resource.clone().into());
    }
}
