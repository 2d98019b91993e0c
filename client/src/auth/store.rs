//! Credential stores: the interface, its errors, and the selection.
//!
//! A store does not interpret credentials and does not renew them; see [`renewal`](super::renewal).

use std::{fmt, io, path::PathBuf, time::Duration};

use futures::future::BoxFuture;

use super::{
    credentials::{CredentialKey, Credentials},
    secret::Secret,
};

mod choice;
mod entry;
mod files;
mod keyring;
mod lock;
mod memory;
mod private;

pub use choice::{DIRECTORY_VARIABLE, STORE_VARIABLE, StoreChoice, default_directory, open_default};
pub use files::FileStore;
pub use keyring::{KeyringBackend, KeyringStore};
pub use lock::StoreLock;
pub use memory::MemoryStore;

/// Stores credentials, one entry per key.
pub trait CredentialStore: Send + Sync + fmt::Debug {
    /// A description for users: "the credential files in …".
    fn describe(&self) -> String;

    /// The credentials of a key, if there are any.
    ///
    /// # Errors
    ///
    /// If the store cannot be read, is accessible to others, or contains an invalid entry.
    fn load<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, Result<Option<Credentials>, StoreError>>;

    /// Replaces the credentials of a key atomically.
    ///
    /// # Errors
    ///
    /// If the store cannot be written.
    fn save<'a>(
        &'a self,
        key: &'a CredentialKey,
        credentials: &'a Credentials,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Removes the entry of a key, even an invalid one. Returns whether there was one.
    ///
    /// # Errors
    ///
    /// If the store cannot be written.
    fn remove<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Lists the entries.
    ///
    /// # Errors
    ///
    /// If the store cannot be read. Invalid entries are part of the list.
    fn list(&self) -> BoxFuture<'_, Result<Listing, StoreError>>;

    /// Locks the renewal of a key between all tasks and processes, until the lock is dropped or its process exits.
    ///
    /// # Errors
    ///
    /// If the lock is not available within the timeout.
    fn lock<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, Result<StoreLock, StoreError>>;
}

/// The entries of a store.
#[derive(Debug, Default)]
pub struct Listing {
    /// Keys of valid entries.
    pub keys: Vec<CredentialKey>,
    /// Errors of the other entries.
    pub broken: Vec<StoreError>,
}

/// The reason why a store failed. Messages contain no stored data.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The key ring is not available.
    #[error("{store} is not available: {detail}; set `MCP_WORKBENCH_CREDENTIALS=file` to store credentials in files")]
    Unavailable {
        /// The name of the key ring.
        store: &'static str,
        /// Its error.
        detail: String,
    },
    /// No directory for credentials is known.
    #[error("no directory for credentials: set HOME, XDG_DATA_HOME or MCP_WORKBENCH_CREDENTIALS_DIR")]
    NoDirectory,
    /// The configured store does not exist.
    #[error("unknown credential store `{name}`: use auto, keyring, kernel or file")]
    UnknownStore {
        /// The name.
        name: String,
    },
    /// A file or directory is accessible to others.
    #[error(
        "{} is accessible to others (mode {mode:03o}): run `chmod {wanted:03o} {}`, and log in again if it may have been read",
        path.display(), path.display()
    )]
    Exposed {
        /// The path.
        path: PathBuf,
        /// Its mode.
        mode: u32,
        /// The required mode.
        wanted: u32,
    },
    /// A file or directory belongs to another user, or is not a regular file.
    #[error("{} {problem}: move it away and log in again", path.display())]
    Foreign {
        /// The path.
        path: PathBuf,
        /// The problem.
        problem: &'static str,
    },
    /// An entry is invalid.
    #[error("the credentials in {location} cannot be read ({problem}): {remedy}")]
    Corrupt {
        /// The location of the entry.
        location: String,
        /// The problem, without stored data.
        problem: String,
        /// The suggestion.
        remedy: String,
    },
    /// Another task or process held the lock for too long.
    #[error("the credentials of {url} were locked by another process for {waited:?}: try again, or stop that process")]
    Busy {
        /// The URL of the server.
        url: String,
        /// The timeout.
        waited: Duration,
    },
    /// A file system operation failed.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// The operation.
        action: &'static str,
        /// The path.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: io::Error,
    },
}

impl StoreError {
    /// A stable name of the kind.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Unavailable { .. } => "store-unavailable",
            Self::NoDirectory => "store-without-folder",
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
