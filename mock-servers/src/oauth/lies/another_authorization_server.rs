//! The metadata of the resource names other authorization servers, or none.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Deception;

/// The metadata of the resource names other authorization servers, or none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct AnotherAuthorizationServer {
    /// Which ones.
    pub servers: Vec<String>,
}

impl Deception for AnotherAuthorizationServer {
    fn resource_metadata(&self, document: &mut Map<String, Value>) {
        document.insert("authorization_servers".to_owned(), self.servers.clone().into());
    }
}
