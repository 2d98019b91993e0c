//! The lock of a key, between tasks, and between processes if there is a directory.
//!
//! It is a kernel lock on a file that is never removed: the kernel releases it when its holder exits, so there are no
//! stale locks. The file also stores a failed renewal, so that processes that waited for the lock do not repeat it.

use std::{
    collections::HashMap,
    fs::{File, TryLockError},
    io::{self, Read, Seek, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Mutex as TaskMutex, OwnedMutexGuard},
    time::{Instant, sleep, timeout_at},
};

use super::{
    StoreError,
    private::{open_lock, private_directory},
};
use crate::auth::{credentials::CredentialKey, renewal_failure::SharedFailure};

/// Timeout of a lock. It is longer than that of a renewal.
pub(crate) const LOCK_TIMEOUT: Duration = Duration::from_secs(75);

/// Minimum and maximum delay between attempts to get a lock of another process.
const RETRY: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(50));

/// Maximum size of a stored failure. Longer content is ignored.
const MAX_STORED: u64 = 16 * 1024;

type Slot = Arc<TaskMutex<Option<SharedFailure>>>;

/// The locks of a store.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    directory: Option<PathBuf>,
    slots: Mutex<HashMap<CredentialKey, Slot>>,
}

impl Locks {
    /// Locks with files in this directory, which other processes use too.
    pub(crate) fn in_directory(directory: PathBuf) -> Self {
        Self { directory: Some(directory), slots: Mutex::default() }
    }

    pub(crate) async fn lock(&self, key: &CredentialKey) -> Result<StoreLock, StoreError> {
        self.lock_within(key, LOCK_TIMEOUT).await
    }

    /// Locks between tasks first, so that at most one task waits for other processes.
    pub(crate) async fn lock_within(&self, key: &CredentialKey, timeout: Duration) -> Result<StoreLock, StoreError> {
        let deadline = Instant::now() + timeout;
        let busy = || StoreError::Busy { url: key.url.clone(), waited: timeout };
        let slot = self.slots.lock().unwrap_or_else(PoisonError::into_inner).entry(key.clone()).or_default().clone();
        let memory = timeout_at(deadline, slot.lock_owned()).await.map_err(|_| busy())?;
        let file = match &self.directory {
            None => None,
            Some(directory) => Some(
                timeout_at(deadline, locked(directory, &format!("{}.lock", key.id()))).await.map_err(|_| busy())??,
            ),
        };
        Ok(StoreLock { memory, file })
    }
}

async fn locked(directory: &Path, name: &str) -> Result<File, StoreError> {
    let path = directory.join(name);
    private_directory(directory)?;
    let file = open_lock(&path)?;
    let mut pause = RETRY.0;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => sleep(pause).await,
            Err(TryLockError::Error(cause)) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(TryLockError::Error(cause)) => return Err(StoreError::io("lock", &path)(cause)),
        }
        pause = (pause * 2).min(RETRY.1);
    }
}

/// A lock on renewals, released on drop.
#[derive(Debug)]
pub struct StoreLock {
    memory: OwnedMutexGuard<Option<SharedFailure>>,
    /// Closing it releases the lock.
    file: Option<File>,
}

impl StoreLock {
    /// The last renewal that failed, here or in another process.
    pub(crate) fn remembered(&mut self) -> Option<SharedFailure> {
        let Some(file) = &mut self.file else {
            return self.memory.clone();
        };
        let mut text = Vec::new();
        file.rewind().ok()?;
        file.take(MAX_STORED).read_to_end(&mut text).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Notes that a renewal failed, or that one succeeded.
    pub(crate) fn remember(&mut self, failure: Option<SharedFailure>) {
        if let Some(file) = &mut self.file
            && let Err(error) = write_over(file, failure.as_ref())
        {
            // Others then try once more than they need to: no reason to fail.
            tracing::warn!(%error, "a failed renewal cannot be noted for other processes");
        }
        *self.memory = failure;
    }
}

fn write_over(file: &mut File, failure: Option<&SharedFailure>) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    match failure {
        Some(failure) => file.write_all(&serde_json::to_vec(failure)?),
        None => Ok(()),
    }
}
