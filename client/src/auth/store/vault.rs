//! The key ring of the system: Secret Service (over D-Bus), the Keychain of macOS, or the key ring of the Linux kernel.
//!
//! A key ring may ask a person for a password and take its time. So each request to it runs in a thread of its own, which
//! holds up neither the runtime nor the end of the program, and which is given up after a while.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use keyring_core::Error;
use tokio::sync::oneshot;

use super::{
    CredentialStore, Listing, Secret, StoreError,
    entry::Entry,
    lock::{Locks, StoreLock},
};
use crate::auth::credentials::{CredentialKey, Credentials};

/// Under what the entries are kept: a person who looks into the key ring finds them by it.
const SERVICE: &str = "mcp-workbench";

/// The entry that lists the others: not every key ring can be searched.
const INDEX: &str = "index";

/// How long a key ring may take: a person may have to type a password.
const PATIENCE: Duration = Duration::from_secs(60);

/// Which key ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vault {
    /// The one of the user's session: it outlives a restart.
    System,
    /// The one of the Linux kernel: it is lost when the machine is started again.
    Kernel,
}

impl Vault {
    const fn name(self) -> &'static str {
        match self {
            Self::System => "the system's key ring",
            Self::Kernel => "the kernel's key ring",
        }
    }

    fn open(self) -> keyring_core::Result<Arc<keyring_core::CredentialStore>> {
        match self {
            #[cfg(target_os = "macos")]
            Self::System => Ok(apple_native_keyring_store::keychain::Store::new()?),
            #[cfg(not(target_os = "macos"))]
            Self::System => Ok(zbus_secret_service_keyring_store::Store::new()?),
            #[cfg(target_os = "linux")]
            Self::Kernel => Ok(linux_keyutils_keyring_store::Store::new()?),
            #[cfg(not(target_os = "linux"))]
            Self::Kernel => Err(Error::NotSupportedByStore("only Linux has one".to_owned())),
        }
    }
}

/// Keeps credentials in a key ring.
#[derive(Debug)]
pub struct KeyringStore {
    shared: Arc<Shared>,
    locks: Locks,
}

#[derive(Debug)]
struct Shared {
    vault: Vault,
    /// Where the entries are. Another name is another set of entries.
    service: String,
    /// Kept open: each opening agrees on a new key with the Secret Service.
    opened: Mutex<Option<Arc<keyring_core::CredentialStore>>>,
}

impl KeyringStore {
    /// The entries of this program. Its locks are files below this folder.
    #[must_use]
    pub fn new(vault: Vault, folder: impl Into<PathBuf>) -> Self {
        Self::with_service(vault, folder, SERVICE)
    }

    /// Entries under another name than this program's.
    #[must_use]
    pub fn with_service(vault: Vault, folder: impl Into<PathBuf>, service: impl Into<String>) -> Self {
        let shared = Shared { vault, service: service.into(), opened: Mutex::default() };
        Self { shared: Arc::new(shared), locks: Locks::in_folder(folder.into().join("locks")) }
    }

    /// Runs work with the key ring in a thread of its own.
    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shared) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (done, awaited) = oneshot::channel();
        let shared = self.shared.clone();
        std::thread::Builder::new()
            .name("key ring".to_owned())
            // Nobody may wait any more: then the outcome is of no interest.
            .spawn(move || drop(done.send(work(&shared))))
            .map_err(|cause| self.shared.unavailable(&cause))?;
        match tokio::time::timeout(PATIENCE, awaited).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => Err(self.shared.unavailable(&"its library panicked")),
            Err(_) => {
                // The thread may hold the connection for ever: the next request gets a new one.
                self.shared.close();
                Err(self.shared.unavailable(&format!("no answer within {PATIENCE:?}; it may be locked")))
            }
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    fn unavailable(&self, detail: &dyn std::fmt::Display) -> StoreError {
        StoreError::Unavailable { store: self.vault.name(), detail: detail.to_string() }
    }

    /// Gives the connection up. That is a request too, and it must not be made where futures run: the library blocks.
    fn close(&self) {
        let Some(opened) = self.opened.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        // Where no thread can be had, the closure is dropped, and the library with it: there is nothing better to do.
        let _ = std::thread::Builder::new().name("key ring".to_owned()).spawn(move || drop(opened));
    }

    fn opened(&self) -> keyring_core::Result<Arc<keyring_core::CredentialStore>> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = &*opened {
            return Ok(store.clone());
        }
        Ok(opened.insert(self.vault.open()?).clone())
    }

    fn entry(&self, user: &str) -> Result<keyring_core::Entry, StoreError> {
        // The guard must be gone before an error is looked at: that closes the connection.
        let opened = self.opened().map_err(|error| self.failed(user, error));
        let store = opened?;
        store.build(&self.service, user, None).map_err(|error| self.failed(user, error))
    }

    fn place(&self, user: &str) -> String {
        format!("{}, service {}, user {user}", self.vault.name(), self.service)
    }

    /// What an error of the library means. Its data are left out: they may be what was stored.
    fn failed(&self, user: &str, error: Error) -> StoreError {
        match error {
            Error::BadEncoding(_) | Error::BadDataFormat(..) => Entry::corrupt(&self.place(user), "not UTF-8"),
            Error::Ambiguous(entries) => {
                Entry::corrupt(&self.place(user), &format!("there are {} of them", entries.len()))
            }
            Error::PlatformFailure(cause) | Error::NoStorageAccess(cause) => {
                // The connection may have ended with its bus.
                self.close();
                self.unavailable(&cause)
            }
            other => self.unavailable(&other),
        }
    }

    fn read(&self, user: &str) -> Result<Option<Secret>, StoreError> {
        match self.entry(user)?.get_password() {
            Ok(text) => Ok(Some(text.into())),
            Err(Error::NoEntry) => Ok(None),
            Err(error) => Err(self.failed(user, error)),
        }
    }

    fn write(&self, user: &str, text: &Secret) -> Result<(), StoreError> {
        self.entry(user)?.set_password(text.expose()).map_err(|error| self.failed(user, error))
    }

    fn delete(&self, user: &str) -> Result<bool, StoreError> {
        match self.entry(user)?.delete_credential() {
            Ok(()) => Ok(true),
            Err(Error::NoEntry) => Ok(false),
            Err(Error::Ambiguous(entries)) => {
                for entry in entries {
                    entry.delete_credential().map_err(|error| self.failed(user, error))?;
                }
                Ok(true)
            }
            Err(error) => Err(self.failed(user, error)),
        }
    }

    /// The keys that were ever saved and not removed. An index that cannot be read is begun anew: it holds no secret, and
    /// entries that are not in it are still found by their key.
    fn index(&self) -> Result<BTreeSet<(String, String)>, StoreError> {
        let text = match self.read(INDEX) {
            Err(StoreError::Corrupt { .. }) => None,
            read => read?,
        };
        Ok(text.and_then(|text| serde_json::from_str(text.expose()).ok()).unwrap_or_default())
    }

    fn change_index(&self, change: impl FnOnce(&mut BTreeSet<(String, String)>) -> bool) -> Result<(), StoreError> {
        let mut index = self.index()?;
        if change(&mut index) {
            let text = serde_json::to_string(&index).expect("strings are JSON");
            // Two entries are as bad for the index as none.
            match self.write(INDEX, &text.into()) {
                Err(StoreError::Corrupt { .. }) => self.delete(INDEX).map(drop),
                written => written,
            }?;
        }
        Ok(())
    }

    fn list(&self) -> Result<Listing, StoreError> {
        let mut listing = Listing::default();
        for (url, name) in self.index()? {
            let key = CredentialKey { url, name };
            match self.load(&key) {
                Ok(Some(_)) => listing.keys.push(key),
                // Removed by another program.
                Ok(None) => {}
                Err(error @ StoreError::Corrupt { .. }) => listing.broken.push(error),
                Err(error) => return Err(error),
            }
        }
        Ok(listing)
    }

    fn load(&self, key: &CredentialKey) -> Result<Option<Credentials>, StoreError> {
        let user = key.id();
        let place = self.place(&user);
        self.read(&user)?.map(|text| Entry::parse(&text, &place)?.of(key, &place)).transpose()
    }
}

/// The lock of the index, which no server has.
fn index_key() -> CredentialKey {
    CredentialKey { url: String::new(), name: INDEX.to_owned() }
}

fn indexed(key: CredentialKey) -> (String, String) {
    (key.url, key.name)
}

impl CredentialStore for KeyringStore {
    fn describe(&self) -> String {
        self.shared.vault.name().to_owned()
    }

    fn load<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, Result<Option<Credentials>, StoreError>> {
        let key = key.clone();
        self.with(move |shared| shared.load(&key)).boxed()
    }

    fn save<'a>(
        &'a self,
        key: &'a CredentialKey,
        credentials: &'a Credentials,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        async {
            let _lock = self.locks.lock(&index_key()).await?;
            let (key, text) = (key.clone(), Entry::text(key, credentials));
            self.with(move |shared| {
                shared.write(&key.id(), &text)?;
                shared.change_index(|index| index.insert(indexed(key)))
            })
            .await
        }
        .boxed()
    }

    fn remove<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, Result<bool, StoreError>> {
        async {
            let _lock = self.locks.lock(&index_key()).await?;
            let key = key.clone();
            self.with(move |shared| {
                let removed = shared.delete(&key.id())?;
                shared.change_index(|index| index.remove(&indexed(key)))?;
                Ok(removed)
            })
            .await
        }
        .boxed()
    }

    fn list(&self) -> BoxFuture<'_, Result<Listing, StoreError>> {
        self.with(Shared::list).boxed()
    }

    fn lock<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, Result<StoreLock, StoreError>> {
        self.locks.lock(key).boxed()
    }
}
