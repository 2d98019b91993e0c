//! The JSON format of an entry, in files and key rings.
//!
//! Errors report only the position: messages of a parser quote the text, which may contain a token.

use serde::{Deserialize, Serialize};

use super::{Secret, StoreError};
use crate::auth::credentials::{CredentialKey, Credentials};

/// Version of the format. Other versions are reported as errors.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
pub(super) struct Entry {
    version: u32,
    pub(super) key: CredentialKey,
    credentials: Credentials,
}

#[derive(Serialize)]
struct StoredEntry<'a> {
    version: u32,
    key: &'a CredentialKey,
    credentials: &'a Credentials,
}

impl Entry {
    /// The text of an entry.
    pub(super) fn text(key: &CredentialKey, credentials: &Credentials) -> Secret {
        let written = StoredEntry { version: VERSION, key, credentials };
        Secret::new(serde_json::to_string(&written).expect("strings and numbers are JSON"))
    }

    pub(super) fn parse(text: &Secret, location: &str) -> Result<Self, StoreError> {
        let entry: Self = serde_json::from_str(text.expose()).map_err(|cause| {
            Self::corrupt(
                location,
                &format!("{:?} error in line {}, column {}", cause.classify(), cause.line(), cause.column()),
            )
        })?;
        if entry.version != VERSION {
            return Err(Self::corrupt(location, &format!("format {} is not supported by this version", entry.version)));
        }
        Ok(entry)
    }

    /// The credentials, if the entry belongs to this key.
    pub(super) fn for_key(self, key: &CredentialKey, location: &str) -> Result<Credentials, StoreError> {
        // A moved entry must not send a token to another server.
        if self.key == *key {
            Ok(self.credentials)
        } else {
            Err(Self::corrupt(location, "they belong to another server"))
        }
    }

    pub(super) fn corrupt(location: &str, problem: &str) -> StoreError {
        StoreError::Corrupt {
            location: location.to_owned(),
            problem: problem.to_owned(),
            remedy: "log in again with `mcp-workbench client login`, or remove them with `mcp-workbench client logout`"
                .to_owned(),
        }
    }
}
