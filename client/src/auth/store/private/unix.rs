//! Unix: modes and owners of files.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use rustix::fs::OFlags;

use crate::auth::store::StoreError;

const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// Creates a directory if necessary, and checks that only its owner can access it.
pub(in crate::auth::store) fn private_directory(directory: &Path) -> Result<(), StoreError> {
    DirBuilder::new()
        .recursive(true)
        .mode(DIRECTORY_MODE)
        .create(directory)
        .map_err(StoreError::io("create", directory))?;
    let opened = File::open(directory).map_err(StoreError::io("open", directory))?;
    guard(&opened, directory, DIRECTORY_MODE)
}

/// Opens the file of a lock, and creates it if necessary.
pub(in crate::auth::store) fn open_lock(path: &Path) -> Result<File, StoreError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(FILE_MODE).custom_flags(no_link());
    let file = options.open(path).map_err(StoreError::io("open", path))?;
    guard(&file, path, FILE_MODE)?;
    Ok(file)
}

/// Opens a file for reading. [`guard_file`] checks it.
pub(in crate::auth::store) fn open_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(no_link()).open(path)
}

/// Creates a file, which must not exist.
pub(in crate::auth::store) fn create_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).custom_flags(no_link()).open(path)
}

/// Makes the names of files in the directory durable.
pub(in crate::auth::store) fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// The directory for data of programs: `$XDG_DATA_HOME`, else `~/.local/share` (XDG Base Directory Specification).
pub(in crate::auth::store) fn data_directory() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("XDG_DATA_HOME").or_else(|| set("HOME").map(|home| home.join(".local/share")))
}

/// Rejects an opened file that is accessible to others or belongs to them.
pub(in crate::auth::store) fn guard_file(file: &File, path: &Path) -> Result<(), StoreError> {
    guard(file, path, FILE_MODE)
}

/// Rejects files that are accessible to others or belong to them. Checks the opened file, because the path may have
/// changed.
fn guard(file: &File, path: &Path, wanted: u32) -> Result<(), StoreError> {
    let metadata = file.metadata().map_err(StoreError::io("inspect", path))?;
    let foreign = |problem| Err(StoreError::Foreign { path: path.to_owned(), problem });
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return foreign("belongs to another user");
    }
    if wanted == FILE_MODE && !metadata.is_file() {
        return foreign("is not a regular file");
    }
    let mode = metadata.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(StoreError::Exposed { path: path.to_owned(), mode, wanted });
    }
    Ok(())
}

/// A symbolic link could redirect a write to another file; a pipe could block.
fn no_link() -> i32 {
    (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed()
}
