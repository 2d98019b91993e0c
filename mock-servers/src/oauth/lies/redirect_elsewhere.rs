//! The browser is sent to another origin with the code.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Deception, Redirect};

/// The browser is sent to another origin with the code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct RedirectElsewhere {
    /// Where to.
    pub to: String,
}

impl Deception for RedirectElsewhere {
    fn redirect(&self, redirect: &mut Redirect) {
        redirect.target.clone_from(&self.to);
    }
}
