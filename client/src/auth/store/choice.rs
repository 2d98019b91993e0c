//! Selects the credential store, with files as the fallback.

use std::{
    path::PathBuf,
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use futures::{FutureExt, future::BoxFuture};

use super::{
    CredentialStore, FileStore, KeyringBackend, KeyringStore, Listing, StoreError, StoreLock, private::data_directory,
};
use crate::auth::credentials::{CredentialKey, Credentials};

/// The variable that selects a store.
pub const STORE_VARIABLE: &str = "MCP_WORKBENCH_CREDENTIALS";

/// The variable with the directory of credential files and locks.
pub const DIRECTORY_VARIABLE: &str = "MCP_WORKBENCH_CREDENTIALS_DIR";

/// The kind of credential store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StoreChoice {
    /// The system's key ring, or files if it is not available.
    #[default]
    Auto,
    /// The system's key ring.
    Keyring,
    /// The key ring of the Linux kernel, until the next reboot.
    Kernel,
    /// Files that only their owner can read.
    File,
}

impl FromStr for StoreChoice {
    type Err = StoreError;

    fn from_str(name: &str) -> Result<Self, StoreError> {
        match name {
            "auto" | "" => Ok(Self::Auto),
            "keyring" => Ok(Self::Keyring),
            "kernel" => Ok(Self::Kernel),
            "file" => Ok(Self::File),
            _ => Err(StoreError::UnknownStore { name: name.to_owned() }),
        }
    }
}

impl StoreChoice {
    /// The store that the environment selects.
    ///
    /// # Errors
    ///
    /// If it selects an unknown store.
    pub fn from_environment() -> Result<Self, StoreError> {
        std::env::var_os(STORE_VARIABLE).map_or(Ok(Self::Auto), |name| name.to_string_lossy().parse())
    }

    /// Opens the store, with its files or locks in this directory. Nothing is read or created yet.
    #[must_use]
    pub fn open(self, directory: PathBuf) -> Arc<dyn CredentialStore> {
        match self {
            Self::Auto => Arc::new(AutoStore::new(
                KeyringStore::new(KeyringBackend::System, &directory),
                FileStore::new(directory),
            )),
            Self::Keyring => Arc::new(KeyringStore::new(KeyringBackend::System, directory)),
            Self::Kernel => Arc::new(KeyringStore::new(KeyringBackend::Kernel, directory)),
            Self::File => Arc::new(FileStore::new(directory)),
        }
    }
}

/// Opens the store and directory that the environment selects.
///
/// # Errors
///
/// If the store is unknown, or a directory is missing.
pub fn open_default() -> Result<Arc<dyn CredentialStore>, StoreError> {
    Ok(StoreChoice::from_environment()?.open(default_directory()?))
}

/// `$MCP_WORKBENCH_CREDENTIALS_DIR`, else `$XDG_DATA_HOME/mcp-workbench/credentials`, else the same below
/// `~/.local/share` (XDG Base Directory Specification), or below `%LOCALAPPDATA%` on Windows.
///
/// # Errors
///
/// If none of them is set.
pub fn default_directory() -> Result<PathBuf, StoreError> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set(DIRECTORY_VARIABLE)
        .or_else(|| data_directory().map(|data| data.join("mcp-workbench/credentials")))
        .ok_or(StoreError::NoDirectory)
}

/// Stores credentials in a key ring, or in files if it is not available.
///
/// A file is newer than the key ring's entry of the same key. It is deleted when the key ring stores an entry.
#[derive(Debug)]
struct AutoStore {
    keyring: KeyringStore,
    files: FileStore,
    /// Whether the key ring failed. It is not tried again in this process.
    without: AtomicBool,
}

impl AutoStore {
    fn new(keyring: KeyringStore, files: FileStore) -> Self {
        Self { keyring, files, without: AtomicBool::new(false) }
    }

    /// The result of the key ring; `None` if it is not available.
    async fn available<T>(&self, result: BoxFuture<'_, Result<T, StoreError>>) -> Result<Option<T>, StoreError> {
        if self.without.load(Ordering::Relaxed) {
            return Ok(None);
        }
        match result.await {
            Err(error @ StoreError::Unavailable { .. }) => {
                self.without.store(true, Ordering::Relaxed);
                tracing::info!(%error, "storing credentials in files");
                Ok(None)
            }
            result => result.map(Some),
        }
    }
}

impl CredentialStore for AutoStore {
    fn describe(&self) -> String {
        if self.without.load(Ordering::Relaxed) { self.files.describe() } else { self.keyring.describe() }
    }

    fn load<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, Result<Option<Credentials>, StoreError>> {
        async {
            match self.files.load(key).await? {
                Some(credentials) => Ok(Some(credentials)),
                None => Ok(self.available(self.keyring.load(key)).await?.flatten()),
            }
        }
        .boxed()
    }

    fn save<'a>(
        &'a self,
        key: &'a CredentialKey,
        credentials: &'a Credentials,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        async {
            match self.available(self.keyring.save(key, credentials)).await? {
                Some(()) => self.files.remove(key).await.map(drop),
                None => self.files.save(key, credentials).await,
            }
        }
        .boxed()
    }

    fn remove<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, Result<bool, StoreError>> {
        async {
            let file = self.files.remove(key).await?;
            let entry = self.available(self.keyring.remove(key)).await?;
            Ok(file || entry == Some(true))
        }
        .boxed()
    }

    fn list(&self) -> BoxFuture<'_, Result<Listing, StoreError>> {
        async {
            let mut listing = self.files.list().await?;
            if let Some(more) = self.available(self.keyring.list()).await? {
                listing.keys.extend(more.keys);
                listing.broken.extend(more.broken);
                listing.keys.sort_by(|one, other| (&one.url, &one.name).cmp(&(&other.url, &other.name)));
                listing.keys.dedup();
            }
            Ok(listing)
        }
        .boxed()
    }

    fn lock<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, Result<StoreLock, StoreError>> {
        // The same lock file for both stores, so that processes with and without a key ring do not renew concurrently.
        self.files.lock(key)
    }
}
