//! A store that ends with its process: for programs that keep nothing.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use futures::{FutureExt, future::BoxFuture};

use super::{
    CredentialStore, Listing, StoreError,
    lock::{Locks, StoreLock},
};
use crate::auth::credentials::{CredentialKey, Credentials};

/// Keeps credentials in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    entries: Mutex<HashMap<CredentialKey, Credentials>>,
    locks: Locks,
}

impl MemoryStore {
    fn entries(&self) -> MutexGuard<'_, HashMap<CredentialKey, Credentials>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CredentialStore for MemoryStore {
    fn describe(&self) -> String {
        "memory".to_owned()
    }

    fn load<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, Result<Option<Credentials>, StoreError>> {
        async { Ok(self.entries().get(key).cloned()) }.boxed()
    }

    fn save<'a>(
        &'a self,
        key: &'a CredentialKey,
        credentials: &'a Credentials,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        async {
            self.entries().insert(key.clone(), credentials.clone());
            Ok(())
        }
        .boxed()
    }

    fn remove<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, Result<bool, StoreError>> {
        async { Ok(self.entries().remove(key).is_some()) }.boxed()
    }

    fn list(&self) -> BoxFuture<'_, Result<Listing, StoreError>> {
        async { Ok(Listing { keys: self.entries().keys().cloned().collect(), broken: Vec::new() }) }.boxed()
    }

    fn lock<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, Result<StoreLock, StoreError>> {
        self.locks.lock(key).boxed()
    }
}
