//! Any HTTP status with any headers and any body.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Turn;
use crate::engine::Step;

/// An HTTP answer that carries no JSON-RPC message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpStatus {
    /// The status, 200 to 599.
    pub status: u16,
    /// The headers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The body.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
}

impl HttpStatus {
    /// A status with one header and no body.
    pub(super) fn with_header(status: u16, name: &str, value: String) -> Self {
        Self { status, headers: BTreeMap::from([(name.to_owned(), value)]), body: String::new() }
    }

    pub(super) fn turn(&self) -> Turn {
        Turn::Settle(Step::Status(self.clone()))
    }
}
