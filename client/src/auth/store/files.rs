//! One file for each entry, which only its owner may read, in a folder that only its owner may look into.
//!
//! What others may read is refused, not mended in silence: they may have read it already.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use futures::{FutureExt, future::BoxFuture};
use rustix::fs::OFlags;

use super::{
    CredentialStore, Listing, StoreError,
    entry::Entry,
    lock::{Locks, StoreLock},
};
use crate::auth::credentials::{CredentialKey, Credentials};

const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// More than any entry needs, with a large `DPoP` key and many scopes.
const MOST: u64 = 1024 * 1024;

/// Keeps credentials in files.
#[derive(Debug)]
pub struct FileStore {
    folder: PathBuf,
    locks: Locks,
}

impl FileStore {
    /// Keeps them below this folder, which is made when the first entry is.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        Self { locks: Locks::in_folder(folder.join("locks")), folder }
    }

    fn path(&self, key: &CredentialKey) -> PathBuf {
        self.folder.join(format!("{}.json", key.id()))
    }
}

impl CredentialStore for FileStore {
    fn describe(&self) -> String {
        format!("the files in {}", self.folder.display())
    }

    fn load<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, Result<Option<Credentials>, StoreError>> {
        let path = self.path(key);
        async move {
            let read = blocking(move || read(&path)).await?;
            read.map(|(text, place)| Entry::parse(&text, &place)?.of(key, &place)).transpose()
        }
        .boxed()
    }

    fn save<'a>(
        &'a self,
        key: &'a CredentialKey,
        credentials: &'a Credentials,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let (folder, path) = (self.folder.clone(), self.path(key));
        let text = Entry::text(key, credentials);
        async move {
            blocking(move || {
                private_folder(&folder)?;
                write(&folder, &path, text.expose())
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
        let folder = self.folder.clone();
        async move { blocking(move || list(&folder)).await }.boxed()
    }

    fn lock<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, Result<StoreLock, StoreError>> {
        async {
            private_folder(&self.folder)?;
            self.locks.lock(key).await
        }
        .boxed()
    }
}

/// Runs what may wait for a disk where that holds nobody up.
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

/// The text of an entry, and where it is; nothing where there is no file.
fn read(path: &Path) -> Result<Option<(super::Secret, String)>, StoreError> {
    let file = match OpenOptions::new().read(true).custom_flags(no_link()).open(path) {
        Ok(file) => file,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(StoreError::io("read", path)(cause)),
    };
    guard(&file, path, FILE_MODE)?;
    let mut text = String::new();
    let place = path.display().to_string();
    file.take(MOST).read_to_string(&mut text).map_err(|cause| match cause.kind() {
        io::ErrorKind::InvalidData => Entry::corrupt(&place, "not UTF-8"),
        _ => StoreError::io("read", path)(cause),
    })?;
    Ok(Some((text.into(), place)))
}

/// Writes all of a file or nothing: a reader sees the old text or the new one, also after a loss of power.
fn write(folder: &Path, path: &Path, text: &str) -> Result<(), StoreError> {
    // A name of its own for each attempt, so that two writers never share one.
    let mut random = [0; 8];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())
        .map_err(|cause| StoreError::io("name", path)(cause.into()))?;
    let fresh = folder.join(format!(".{}.tmp", crate::auth::credentials::hex(&random)));
    let written = (|| {
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).custom_flags(no_link()).open(&fresh)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&fresh, path)?;
        // The name is in the folder: it is durable when the folder is.
        File::open(folder)?.sync_all()
    })();
    written.map_err(|cause| {
        // Best effort: what is reported is why it could not be written.
        let _ = fs::remove_file(&fresh);
        StoreError::io("write", path)(cause)
    })
}

fn list(folder: &Path) -> Result<Listing, StoreError> {
    let mut listing = Listing::default();
    let files = match fs::read_dir(folder) {
        Ok(files) => files,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(listing),
        Err(cause) => return Err(StoreError::io("list", folder)(cause)),
    };
    for file in files {
        let path = file.map_err(StoreError::io("list", folder))?.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        match read(&path).and_then(|read| read.map(|(text, place)| Entry::parse(&text, &place)).transpose()) {
            Ok(Some(entry)) => listing.keys.push(entry.key),
            // It was removed in the meantime.
            Ok(None) => {}
            Err(error) => listing.broken.push(error),
        }
    }
    listing.keys.sort_by(|one, other| (&one.url, &one.name).cmp(&(&other.url, &other.name)));
    Ok(listing)
}

/// Sees to it that a folder is there, is this user's, and is closed to others.
pub(super) fn private_folder(folder: &Path) -> Result<(), StoreError> {
    DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder).map_err(StoreError::io("create", folder))?;
    let opened = File::open(folder).map_err(StoreError::io("open", folder))?;
    guard(&opened, folder, FOLDER_MODE)
}

/// The file of a lock, made where it is missing.
pub(super) fn open_lock(path: &Path) -> Result<File, StoreError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(FILE_MODE).custom_flags(no_link());
    let file = options.open(path).map_err(StoreError::io("open", path))?;
    guard(&file, path, FILE_MODE)?;
    Ok(file)
}

/// Refuses what is open to others, or theirs. It looks at what was opened, not at what the path means by now.
fn guard(file: &File, path: &Path, wanted: u32) -> Result<(), StoreError> {
    let metadata = file.metadata().map_err(StoreError::io("look at", path))?;
    let foreign = |problem| Err(StoreError::Foreign { path: path.to_owned(), problem });
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return foreign("belongs to another user");
    }
    if wanted == FILE_MODE && !metadata.is_file() {
        return foreign("is no file");
    }
    let mode = metadata.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(StoreError::Exposed { path: path.to_owned(), mode, wanted });
    }
    Ok(())
}

/// A link would lead a write of ours to a file of its maker's choice. A pipe must not hold us up.
fn no_link() -> i32 {
    (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed()
}
