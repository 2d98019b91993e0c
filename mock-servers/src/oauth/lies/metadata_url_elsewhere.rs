//! The challenge points to metadata at another place: another origin, a private address, another scheme.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Deception;
use crate::oauth::guard::Challenge;

/// The challenge points to metadata at another place: another origin, a private address, another scheme.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct MetadataUrlElsewhere {
    /// Where it points to.
    pub url: String,
}

impl Deception for MetadataUrlElsewhere {
    fn challenge(&self, challenge: &mut Challenge) {
        challenge.point_to(&self.url);
    }
}
