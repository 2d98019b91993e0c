//! An entry as it is written: the same JSON in a file and in a key ring.
//!
//! What is wrong with a text is told by place alone: a parser's message quotes what it found, which may be a token.

use serde::{Deserialize, Serialize};

use super::{Secret, StoreError};
use crate::auth::credentials::{CredentialKey, Credentials};

/// The form that is written. A form that this program does not know is reported, not guessed at.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
pub(super) struct Entry {
    version: u32,
    pub(super) key: CredentialKey,
    credentials: Credentials,
}

#[derive(Serialize)]
struct Written<'a> {
    version: u32,
    key: &'a CredentialKey,
    credentials: &'a Credentials,
}

impl Entry {
    /// The text of an entry.
    pub(super) fn text(key: &CredentialKey, credentials: &Credentials) -> Secret {
        let written = Written { version: VERSION, key, credentials };
        Secret::new(serde_json::to_string(&written).expect("strings and numbers are JSON"))
    }

    pub(super) fn parse(text: &Secret, place: &str) -> Result<Self, StoreError> {
        let entry: Self = serde_json::from_str(text.expose()).map_err(|cause| {
            Self::corrupt(
                place,
                &format!("{:?} error in line {}, column {}", cause.classify(), cause.line(), cause.column()),
            )
        })?;
        if entry.version != VERSION {
            return Err(Self::corrupt(place, &format!("form {} is not known to this version", entry.version)));
        }
        Ok(entry)
    }

    /// Its credentials, if it is the entry of this key.
    pub(super) fn of(self, key: &CredentialKey, place: &str) -> Result<Credentials, StoreError> {
        // An entry that somebody moved here must not send one server's token to another.
        if self.key == *key { Ok(self.credentials) } else { Err(Self::corrupt(place, "they are of another server")) }
    }

    pub(super) fn corrupt(place: &str, problem: &str) -> StoreError {
        StoreError::Corrupt {
            place: place.to_owned(),
            problem: problem.to_owned(),
            remedy: "log in again with `mcp-workbench client login`, or remove them with `mcp-workbench client logout`"
                .to_owned(),
        }
    }
}
