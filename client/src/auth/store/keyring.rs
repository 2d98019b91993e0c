//! Key rings: Secret Service (over D-Bus), Keychain of macOS, Credential Manager of Windows, or key ring of the Linux kernel.
//!
//! A key ring may ask the user for a password. Requests run in separate threads with a timeout, so that they block
//! neither the runtime nor the exit of the program.

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

/// The service name, which users see in the key ring.
const SERVICE: &str = "mcp-workbench";

/// The entry with the list of entries, because not every key ring can be searched.
const INDEX: &str = "index";

/// Timeout of a request. The user may have to enter a password.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// The kind of key ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyringBackend {
    /// The key ring of the user's session, which is persistent.
    System,
    /// The key ring of the Linux kernel, which is lost on reboot.
    Kernel,
}

impl KeyringBackend {
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
            #[cfg(windows)]
            Self::System => Ok(windows_native_keyring_store::Store::new()?),
            #[cfg(not(any(target_os = "macos", windows)))]
            Self::System => Ok(zbus_secret_service_keyring_store::Store::new()?),
            #[cfg(target_os = "linux")]
            Self::Kernel => Ok(linux_keyutils_keyring_store::Store::new()?),
            #[cfg(not(target_os = "linux"))]
            Self::Kernel => Err(Error::NotSupportedByStore("only available on Linux".to_owned())),
        }
    }
}

/// Stores credentials in a key ring.
#[derive(Debug)]
pub struct KeyringStore {
    shared: Arc<Shared>,
    locks: Locks,
}

#[derive(Debug)]
struct Shared {
    vault: KeyringBackend,
    /// The service name of the entries.
    service: String,
    /// The open connection. Opening one negotiates a new key with the Secret Service.
    opened: Mutex<Option<Arc<keyring_core::CredentialStore>>>,
}

impl KeyringStore {
    /// A store with this program's service name. Lock files are in this directory.
    #[must_use]
    pub fn new(vault: KeyringBackend, directory: impl Into<PathBuf>) -> Self {
        Self::with_service(vault, directory, SERVICE)
    }

    /// A store with another service name.
    #[must_use]
    pub fn with_service(vault: KeyringBackend, directory: impl Into<PathBuf>, service: impl Into<String>) -> Self {
        let shared = Shared { vault, service: service.into(), opened: Mutex::default() };
        Self { shared: Arc::new(shared), locks: Locks::in_directory(directory.into().join("locks")) }
    }

    /// Runs a request in a separate thread.
    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shared) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (done, awaited) = oneshot::channel();
        let shared = self.shared.clone();
        std::thread::Builder::new()
            .name("key ring".to_owned())
            // The receiver may have stopped waiting.
            .spawn(move || drop(done.send(work(&shared))))
            .map_err(|cause| self.shared.unavailable(&cause))?;
        match tokio::time::timeout(REQUEST_TIMEOUT, awaited).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => Err(self.shared.unavailable(&"its library panicked")),
            Err(_) => {
                // The thread may never release the connection, so the next request opens a new one.
                self.shared.close();
                Err(self.shared.unavailable(&format!("no response within {REQUEST_TIMEOUT:?}; it may be locked")))
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

    /// Closes the connection in a separate thread, because the library blocks.
    fn close(&self) {
        let Some(opened) = self.opened.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        // Without a thread, the closure and the connection are dropped here.
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
        // The guard must be dropped before an error is handled, which closes the connection.
        let opened = self.opened().map_err(|error| self.failed(user, error));
        let store = opened?;
        store.build(&self.service, user, None).map_err(|error| self.failed(user, error))
    }

    fn location(&self, user: &str) -> String {
        format!("{}, service {}, user {user}", self.vault.name(), self.service)
    }

    /// Converts an error of the library, without its data, which may be secret.
    fn failed(&self, user: &str, error: Error) -> StoreError {
        match error {
            Error::BadEncoding(_) | Error::BadDataFormat(..) => Entry::corrupt(&self.location(user), "not UTF-8"),
            Error::Ambiguous(entries) => {
                Entry::corrupt(&self.location(user), &format!("there are {} entries", entries.len()))
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

    /// The stored keys. An invalid index is replaced: it contains no secrets, and entries are still found by their
    /// keys.
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
            // Duplicate index entries count as a missing index.
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
                // Another program removed it.
                Ok(None) => {}
                Err(error @ StoreError::Corrupt { .. }) => listing.broken.push(error),
                Err(error) => return Err(error),
            }
        }
        Ok(listing)
    }

    fn load(&self, key: &CredentialKey) -> Result<Option<Credentials>, StoreError> {
        let user = key.id();
        let location = self.location(&user);
        self.read(&user)?.map(|text| Entry::parse(&text, &location)?.for_key(key, &location)).transpose()
    }
}

/// The key of the index lock, which no server uses.
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
