//! Which store is taken, and the one that takes what there is.

use std::{
    path::PathBuf,
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use futures::{FutureExt, future::BoxFuture};

use super::{CredentialStore, FileStore, KeyringStore, Listing, StoreError, StoreLock, Vault};
use crate::auth::credentials::{CredentialKey, Credentials};

/// The variable that chooses a store.
pub const STORE_VARIABLE: &str = "MCP_WORKBENCH_CREDENTIALS";

/// The variable that names the folder of credential files and locks.
pub const FOLDER_VARIABLE: &str = "MCP_WORKBENCH_CREDENTIALS_DIR";

/// Where credentials are to be kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StoreChoice {
    /// In the system's key ring; in files where there is none.
    #[default]
    Auto,
    /// In the system's key ring.
    Keyring,
    /// In the key ring of the Linux kernel, until the machine is started again.
    Kernel,
    /// In files that only their owner may read.
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
    /// What the environment chooses.
    ///
    /// # Errors
    ///
    /// Fails if it names no store.
    pub fn from_environment() -> Result<Self, StoreError> {
        std::env::var_os(STORE_VARIABLE).map_or(Ok(Self::Auto), |name| name.to_string_lossy().parse())
    }

    /// The chosen store, with its files or locks in this folder. Nothing is made or asked yet.
    #[must_use]
    pub fn open(self, folder: PathBuf) -> Arc<dyn CredentialStore> {
        match self {
            Self::Auto => Arc::new(AutoStore::new(KeyringStore::new(Vault::System, &folder), FileStore::new(folder))),
            Self::Keyring => Arc::new(KeyringStore::new(Vault::System, folder)),
            Self::Kernel => Arc::new(KeyringStore::new(Vault::Kernel, folder)),
            Self::File => Arc::new(FileStore::new(folder)),
        }
    }
}

/// The store that the environment chooses, in the folder that it names.
///
/// # Errors
///
/// Fails if it names no store, or no folder can be found.
pub fn open_default() -> Result<Arc<dyn CredentialStore>, StoreError> {
    Ok(StoreChoice::from_environment()?.open(default_folder()?))
}

/// `$MCP_WORKBENCH_CREDENTIALS_DIR`, else `$XDG_DATA_HOME/mcp-workbench/credentials`, else the same below
/// `~/.local/share` (XDG Base Directory Specification).
///
/// # Errors
///
/// Fails if none of them is set.
pub fn default_folder() -> Result<PathBuf, StoreError> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let data = || set("XDG_DATA_HOME").or_else(|| set("HOME").map(|home| home.join(".local/share")));
    set(FOLDER_VARIABLE)
        .or_else(|| data().map(|data| data.join("mcp-workbench/credentials")))
        .ok_or(StoreError::NoFolder)
}

/// Keeps credentials in a key ring, and in files while there is none.
///
/// A file is newer than what the key ring holds for the same key: it is removed as soon as the key ring takes an entry.
#[derive(Debug)]
struct AutoStore {
    keyring: KeyringStore,
    files: FileStore,
    /// The key ring did not answer: it is not asked again by this process, which may have waited long already.
    without: AtomicBool,
}

impl AutoStore {
    fn new(keyring: KeyringStore, files: FileStore) -> Self {
        Self { keyring, files, without: AtomicBool::new(false) }
    }

    /// What the key ring says, or nothing where there is none.
    async fn asked<T>(&self, answer: BoxFuture<'_, Result<T, StoreError>>) -> Result<Option<T>, StoreError> {
        if self.without.load(Ordering::Relaxed) {
            return Ok(None);
        }
        match answer.await {
            Err(error @ StoreError::Unavailable { .. }) => {
                self.without.store(true, Ordering::Relaxed);
                tracing::info!(%error, "credentials are kept in files");
                Ok(None)
            }
            answer => answer.map(Some),
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
                None => Ok(self.asked(self.keyring.load(key)).await?.flatten()),
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
            match self.asked(self.keyring.save(key, credentials)).await? {
                Some(()) => self.files.remove(key).await.map(drop),
                None => self.files.save(key, credentials).await,
            }
        }
        .boxed()
    }

    fn remove<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, Result<bool, StoreError>> {
        async {
            let file = self.files.remove(key).await?;
            let entry = self.asked(self.keyring.remove(key)).await?;
            Ok(file || entry == Some(true))
        }
        .boxed()
    }

    fn list(&self) -> BoxFuture<'_, Result<Listing, StoreError>> {
        async {
            let mut listing = self.files.list().await?;
            if let Some(more) = self.asked(self.keyring.list()).await? {
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
        // The same file for both: a process with a key ring and one without must not renew at once.
        self.files.lock(key)
    }
}
