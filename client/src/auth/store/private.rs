//! Files and directories that only their owner can access.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::Path,
};

use rustix::fs::OFlags;

use super::StoreError;

const DIRECTORY_MODE: u32 = 0o700;
pub(super) const FILE_MODE: u32 = 0o600;

/// Creates a directory if necessary, and checks that only its owner can access it.
pub(super) fn private_directory(directory: &Path) -> Result<(), StoreError> {
    DirBuilder::new()
        .recursive(true)
        .mode(DIRECTORY_MODE)
        .create(directory)
        .map_err(StoreError::io("create", directory))?;
    let opened = File::open(directory).map_err(StoreError::io("open", directory))?;
    guard(&opened, directory, DIRECTORY_MODE)
}

/// Opens the file of a lock, and creates it if necessary.
pub(super) fn open_lock(path: &Path) -> Result<File, StoreError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(FILE_MODE).custom_flags(no_link());
    let file = options.open(path).map_err(StoreError::io("open", path))?;
    guard(&file, path, FILE_MODE)?;
    Ok(file)
}

/// Rejects files that are accessible to others or belong to them. Checks the opened file, because the path may have
/// changed.
pub(super) fn guard(file: &File, path: &Path, wanted: u32) -> Result<(), StoreError> {
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
pub(super) fn no_link() -> i32 {
    (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed()
}
