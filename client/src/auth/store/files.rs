//! One file per entry, in a directory; only the owner can read both.
//!
//! If others can read them, this is reported and not fixed silently, because they may have been read.

use std::{
    fs,
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use futures::{FutureExt, future::BoxFuture};

use super::{
    CredentialStore, Listing, StoreError,
    entry::Entry,
    lock::{Locks, StoreLock},
    private::{create_file, guard_file, open_file, private_directory, sync_directory},
};
use crate::auth::credentials::{CredentialKey, Credentials};

/// More than any valid entry needs.
const MAX_BYTES: u64 = 1024 * 1024;

/// Stores credentials in files.
#[derive(Debug)]
pub struct FileStore {
    directory: PathBuf,
    locks: Locks,
}

impl FileStore {
    /// A store in this directory, which is created with the first entry.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        let directory = directory.into();
        Self { locks: Locks::in_directory(directory.join("locks")), directory }
    }

    fn path(&self, key: &CredentialKey) -> PathBuf {
        self.directory.join(format!("{}.json", key.id()))
    }
}

impl CredentialStore for FileStore {
    fn describe(&self) -> String {
        format!("the files in {}", self.directory.display())
    }

    fn load<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, Result<Option<Credentials>, StoreError>> {
        let path = self.path(key);
        async move {
            let read = blocking(move || read(&path)).await?;
            read.map(|(text, location)| Entry::parse(&text, &location)?.for_key(key, &location)).transpose()
        }
        .boxed()
    }

    fn save<'a>(
        &'a self,
        key: &'a CredentialKey,
        credentials: &'a Credentials,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let (directory, path) = (self.directory.clone(), self.path(key));
        let text = Entry::text(key, credentials);
        async move {
            blocking(move || {
                private_directory(&directory)?;
                write(&directory, &path, text.expose())
            })
            .await
        }
        .boxed()
    }

    fn remove<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, Result<bool, StoreError>> {
        let path = self.path(key);
        async move {
            blocking(move || match fs::remove_file(&path) {
                Ok(()) => Ok(true),
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(false),
                Err(cause) => Err(StoreError::io("remove", &path)(cause)),
            })
            .await
        }
        .boxed()
    }

    fn list(&self) -> BoxFuture<'_, Result<Listing, StoreError>> {
        let directory = self.directory.clone();
        async move { blocking(move || list(&directory)).await }.boxed()
    }

    fn lock<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, Result<StoreLock, StoreError>> {
        async {
            private_directory(&self.directory)?;
            self.locks.lock(key).await
        }
        .boxed()
    }
}

/// Runs blocking file operations.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(ended) => Err(StoreError::Io {
            action: "work on",
            path: "the credential files".into(),
            cause: io::Error::other(ended),
        }),
    }
}

/// The text of an entry and its path, if the file exists.
fn read(path: &Path) -> Result<Option<(super::Secret, String)>, StoreError> {
    let file = match open_file(path) {
        Ok(file) => file,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(StoreError::io("read", path)(cause)),
    };
    guard_file(&file, path)?;
    let mut text = String::new();
    let location = path.display().to_string();
    file.take(MAX_BYTES).read_to_string(&mut text).map_err(|cause| match cause.kind() {
        io::ErrorKind::InvalidData => Entry::corrupt(&location, "not UTF-8"),
        _ => StoreError::io("read", path)(cause),
    })?;
    Ok(Some((text.into(), location)))
}

/// Replaces a file atomically and durably.
fn write(directory: &Path, path: &Path, text: &str) -> Result<(), StoreError> {
    // A unique name for each attempt, so that concurrent writers do not share it.
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(|cause| StoreError::io("name", path)(io::Error::other(cause)))?;
    let fresh = directory.join(format!(".{}.tmp", crate::auth::credentials::hex(&random)));
    let written = (|| {
        let mut file = create_file(&fresh)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&fresh, path)?;
        // The name is durable after the directory is synchronized.
        sync_directory(directory)
    })();
    written.map_err(|cause| {
        // Best effort: the first error is reported.
        let _ = fs::remove_file(&fresh);
        StoreError::io("write", path)(cause)
    })
}

fn list(directory: &Path) -> Result<Listing, StoreError> {
    let mut listing = Listing::default();
    let files = match fs::read_dir(directory) {
        Ok(files) => files,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(listing),
        Err(cause) => return Err(StoreError::io("list", directory)(cause)),
    };
    for file in files {
        let path = file.map_err(StoreError::io("list", directory))?.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        match read(&path).and_then(|read| read.map(|(text, location)| Entry::parse(&text, &location)).transpose()) {
            Ok(Some(entry)) => listing.keys.push(entry.key),
            // It was removed in the meantime.
            Ok(None) => {}
            Err(error) => listing.broken.push(error),
        }
    }
    listing.keys.sort_by(|one, other| (&one.url, &one.name).cmp(&(&other.url, &other.name)));
    Ok(listing)
}
