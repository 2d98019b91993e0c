//! The authorization response carries a parameter twice, the second time with another value.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Deception, Redirect};

/// The authorization response carries a parameter twice, the second time with another value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct RepeatedParameter {
    /// Which one: `code`, `state` or `iss`.
    pub name: String,
}

impl Deception for RepeatedParameter {
    fn redirect(&self, redirect: &mut Redirect) {
        if redirect.has(&self.name) {
            redirect.params.push((self.name.clone(), "another-value".to_owned()));
        }
    }
}
