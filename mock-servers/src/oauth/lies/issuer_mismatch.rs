//! The metadata names another issuer than the one that it was asked for, which clients must refuse (RFC 8414 section
//! 3.3).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Deception, Forgery};

/// The metadata names another issuer than the one that it was asked for, which clients must refuse (RFC 8414 section
/// 3.3).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct IssuerMismatch {
    /// How the issuer differs.
    #[serde(rename = "as")]
    pub form: Forgery,
}

impl Deception for IssuerMismatch {
    fn metadata(&self, issuer: &str, document: &mut Map<String, Value>) {
        document.insert("issuer".to_owned(), self.form.of(issuer).into());
    }
}
