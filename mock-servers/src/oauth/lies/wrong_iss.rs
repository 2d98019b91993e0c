//! The authorization response carries the issuer of another server: a mix-up (RFC 9207 section 4).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Deception, Forgery, Redirect};

/// The authorization response carries the issuer of another server: a mix-up (RFC 9207 section 4).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct WrongIss {
    /// How the issuer differs.
    #[serde(rename = "as")]
    pub form: Forgery,
}

impl Deception for WrongIss {
    fn redirect(&self, redirect: &mut Redirect) {
        let forged = self.form.of(&redirect.issuer);
        redirect.set("iss", forged);
    }
}
