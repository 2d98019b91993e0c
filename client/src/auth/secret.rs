//! A text that nobody is to see. It can be sent and stored, not printed.

use std::fmt;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

/// A token, a client's secret or a private key. It is overwritten when it is dropped; `Debug` tells nothing of it, and
/// there is no `Display`. Serialized it is its text: only what stores or sends it may do that.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Keeps a text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    /// The text itself, for the request or the store that needs it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<Secret> for String {
    fn from(secret: Secret) -> Self {
        secret.expose().to_owned()
    }
}
