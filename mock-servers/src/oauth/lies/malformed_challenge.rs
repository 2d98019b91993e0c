//! `WWW-Authenticate` is not what its grammar allows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Deception;
use crate::oauth::guard::Challenge;

/// `WWW-Authenticate` is not what its grammar allows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct MalformedChallenge {
    /// What it is.
    pub value: String,
}

impl Deception for MalformedChallenge {
    fn challenge(&self, challenge: &mut Challenge) {
        challenge.replace(Some(&self.value));
    }
}
