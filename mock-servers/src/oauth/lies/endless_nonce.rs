//! Whatever nonce a DPoP proof carries, another one is asked for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Deception, Permit};

/// Whatever nonce a DPoP proof carries, another one is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct EndlessNonce {
    /// Whether the resource asks, and not the token endpoint.
    #[serde(default)]
    pub at_resource: bool,
}

impl Deception for EndlessNonce {
    fn permits(&self, what: Permit) -> bool {
        what == if self.at_resource { Permit::EndlessResourceNonce } else { Permit::EndlessServerNonce }
    }
}
