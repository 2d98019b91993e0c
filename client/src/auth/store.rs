//! Where credentials are kept: what a store does, what can go wrong with one, and which one is taken.
//!
//! A store holds no opinion on what is in an entry, and it never renews: that is [`renewal`](super::renewal)'s.

use std::{fmt, io, path::PathBuf, time::Duration};

use futures::future::BoxFuture;

use super::{
    credentials::{CredentialKey, Credentials},
    secret::Secret,
};

mod choice;
mod entry;
mod files;
mod lock;
mod memory;
mod vault;

pub use choice::{FOLDER_VARIABLE, STORE_VARIABLE, StoreChoice, default_folder, open_default};
pub use files::FileStore;
pub use lock::StoreLock;
pub use memory::MemoryStore;
pub use vault::{KeyringStore, Vault};

/// Keeps credentials, one entry for each key.
pub trait CredentialStore: Send + Sync + fmt::Debug {
    /// What it is, for a person: "the credential files in …".
    fn describe(&self) -> String;

    /// The credentials of a key; nothing where there are none.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read, may be read by others, or holds for this key what it cannot have written.
    fn load<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, Result<Option<Credentials>, StoreError>>;

    /// Keeps credentials in place of those there were. Afterwards either the old ones are there or the new ones, never
    /// a part.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be written.
    fn save<'a>(
        &'a self,
        key: &'a CredentialKey,
        credentials: &'a Credentials,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Removes what is kept for a key, readable or not. Says whether there was anything.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be written.
    fn remove<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// What is kept.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read at all; single entries that cannot are told in the list.
    fn list(&self) -> BoxFuture<'_, Result<Listing, StoreError>>;

    /// Keeps every other task and process from renewing this key until the lock is dropped, or its process ends.
    ///
    /// # Errors
    ///
    /// Fails if the lock is not had within a bounded time.
    fn lock<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, Result<StoreLock, StoreError>>;
}

/// What a store holds.
#[derive(Debug, Default)]
pub struct Listing {
    /// The keys of the entries that can be read.
    pub keys: Vec<CredentialKey>,
    /// What is wrong with the others.
    pub broken: Vec<StoreError>,
}

/// A store failed. No message holds anything of what is stored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The key ring of the system does not answer.
    #[error("{store} cannot be used: {detail}; `MCP_WORKBENCH_CREDENTIALS=file` keeps credentials in files instead")]
    Unavailable {
        /// Which.
        store: &'static str,
        /// What it said.
        detail: String,
    },
    /// No folder for the credentials is known.
    #[error("no folder for credentials is known: set HOME, XDG_DATA_HOME or MCP_WORKBENCH_CREDENTIALS_DIR")]
    NoFolder,
    /// The name of the wanted store is not one.
    #[error("`{name}` is no credential store: there are auto, keyring, kernel and file")]
    UnknownStore {
        /// What was asked for.
        name: String,
    },
    /// Others may read a file, or look into a folder.
    #[error(
        "others may read {} (mode {mode:03o}): `chmod {wanted:03o} {}` closes it; log in again if somebody could have read it",
        path.display(), path.display()
    )]
    Exposed {
        /// Which.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
        /// The permissions that it needs.
        wanted: u32,
    },
    /// A file or a folder is not of this user, or is no file.
    #[error("{} {problem}: move it away and log in again", path.display())]
    Foreign {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        problem: &'static str,
    },
    /// An entry is not what this program writes.
    #[error("the credentials in {place} cannot be read ({problem}): {remedy}")]
    Corrupt {
        /// Where they are.
        place: String,
        /// What is wrong, without a word of what is there.
        problem: String,
        /// What helps.
        remedy: String,
    },
    /// Another task or process held the lock for too long.
    #[error("the credentials of {url} were locked by another process for {waited:?}: try again, or end that process")]
    Busy {
        /// The server.
        url: String,
        /// How long was waited.
        waited: Duration,
    },
    /// The file system refused.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// What it said.
        #[source]
        cause: io::Error,
    },
}

impl StoreError {
    /// A stable name of the kind of failure.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Unavailable { .. } => "store-unavailable",
            Self::NoFolder => "store-without-folder",
            Self::UnknownStore { .. } => "store-unknown",
            Self::Exposed { .. } => "store-exposed",
            Self::Foreign { .. } => "store-foreign",
            Self::Corrupt { .. } => "store-corrupt",
            Self::Busy { .. } => "store-busy",
            Self::Io { .. } => "store-io",
        }
    }

    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |cause| Self::Io { action, path, cause }
    }
}

#[cfg(test)]
mod tests;
