//! The lock of a key: between the tasks of this process, and between processes where a folder is given.
//!
//! It is a lock of the kernel on a file that is never removed: when its holder dies, the kernel frees it, and there is no
//! stale lock to guess about. The file also holds what is to be remembered of a renewal that failed, so that processes
//! which waited for the lock need not fail at the same server once more.

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

use super::{StoreError, files};
use crate::auth::{credentials::CredentialKey, renewal::Remembered};

/// How long a lock is waited for: longer than a renewal may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(75);

/// How often a lock that another process holds is tried again: between these two, ever more slowly.
const RETRY: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(50));

/// More than a remembered failure needs: what is longer was not written by this program.
const MOST_REMEMBERED: u64 = 16 * 1024;

type Slot = Arc<TaskMutex<Option<Remembered>>>;

/// The locks of a store.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    folder: Option<PathBuf>,
    slots: Mutex<HashMap<CredentialKey, Slot>>,
}

impl Locks {
    /// Locks that hold against other processes which use the same folder.
    pub(crate) fn in_folder(folder: PathBuf) -> Self {
        Self { folder: Some(folder), slots: Mutex::default() }
    }

    pub(crate) async fn lock(&self, key: &CredentialKey) -> Result<StoreLock, StoreError> {
        self.lock_within(key, PATIENCE).await
    }

    /// Takes the lock among the tasks first, so that one of them at most waits for other processes.
    pub(crate) async fn lock_within(&self, key: &CredentialKey, patience: Duration) -> Result<StoreLock, StoreError> {
        let deadline = Instant::now() + patience;
        let busy = || StoreError::Busy { url: key.url.clone(), waited: patience };
        let slot = self.slots.lock().unwrap_or_else(PoisonError::into_inner).entry(key.clone()).or_default().clone();
        let memory = timeout_at(deadline, slot.lock_owned()).await.map_err(|_| busy())?;
        let file = match &self.folder {
            None => None,
            Some(folder) => {
                Some(timeout_at(deadline, locked(folder, &format!("{}.lock", key.id()))).await.map_err(|_| busy())??)
            }
        };
        Ok(StoreLock { memory, file })
    }
}

async fn locked(folder: &Path, name: &str) -> Result<File, StoreError> {
    let path = folder.join(name);
    files::private_folder(folder)?;
    let file = files::open_lock(&path)?;
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

/// Held, it keeps others from renewing. It is given back when it is dropped.
#[derive(Debug)]
pub struct StoreLock {
    memory: OwnedMutexGuard<Option<Remembered>>,
    /// Closing it frees the lock.
    file: Option<File>,
}

impl StoreLock {
    /// The last renewal that failed, here or in another process.
    pub(crate) fn remembered(&mut self) -> Option<Remembered> {
        let Some(file) = &mut self.file else {
            return self.memory.clone();
        };
        let mut text = Vec::new();
        file.rewind().ok()?;
        file.take(MOST_REMEMBERED).read_to_end(&mut text).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Notes that a renewal failed, or that one succeeded.
    pub(crate) fn remember(&mut self, failure: Option<Remembered>) {
        if let Some(file) = &mut self.file
            && let Err(error) = write_over(file, failure.as_ref())
        {
            // Others then try once more than they need to: no reason to fail.
            tracing::warn!(%error, "a failed renewal cannot be noted for other processes");
        }
        *self.memory = failure;
    }
}

fn write_over(file: &mut File, failure: Option<&Remembered>) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    match failure {
        Some(failure) => file.write_all(&serde_json::to_vec(failure)?),
        None => Ok(()),
    }
}
