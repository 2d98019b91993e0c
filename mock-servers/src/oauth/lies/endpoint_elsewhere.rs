//! The metadata points to an endpoint at another place: another origin, a private address, another scheme.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Deception;

/// The metadata points to an endpoint at another place: another origin, a private address, another scheme.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct EndpointElsewhere {
    /// The member of the metadata: `token_endpoint`, say.
    pub endpoint: String,
    /// Where it points to: `http://169.254.169.254/latest`, `file:///etc/passwd`, `javascript:alert(1)`.
    pub url: String,
}

impl Deception for EndpointElsewhere {
    fn metadata(&self, _: &str, document: &mut Map<String, Value>) {
        document.insert(self.endpoint.clone(), self.url.clone().into());
    }
}
