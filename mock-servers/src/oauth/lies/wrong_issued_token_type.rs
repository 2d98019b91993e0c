//! The identity provider exchanges the ID token for something else than a grant (RFC 8693 section 2.2.1).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Deception;

/// The identity provider exchanges the ID token for something else than a grant, which clients must not present as one
/// (RFC 8693 section 2.2.1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct WrongIssuedTokenType {
    /// The type: `urn:ietf:params:oauth:token-type:access_token`, say.
    pub issued_token_type: String,
}

impl Deception for WrongIssuedTokenType {
    fn exchange_response(&self, body: &mut Map<String, Value>) {
        body.insert("issued_token_type".to_owned(), self.issued_token_type.clone().into());
    }
}
