//! Windows: the directory of the user's profile, which other users cannot read unless its owner permits it. So there are no
//! checks of permissions.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::windows::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use crate::auth::store::StoreError;

/// A symbolic link is opened itself (`FILE_FLAG_OPEN_REPARSE_POINT`), and is then not a regular file: it could redirect a write
/// to another file.
const NO_LINK: u32 = 0x0020_0000;

/// Creates a directory if necessary.
pub(in crate::auth::store) fn private_directory(directory: &Path) -> Result<(), StoreError> {
    fs::create_dir_all(directory).map_err(StoreError::io("create", directory))
}

/// Opens the file of a lock, and creates it if necessary.
pub(in crate::auth::store) fn open_lock(path: &Path) -> Result<File, StoreError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).custom_flags(NO_LINK);
    let file = options.open(path).map_err(StoreError::io("open", path))?;
    guard_file(&file, path)?;
    Ok(file)
}

/// Opens a file for reading. [`guard_file`] checks it.
pub(in crate::auth::store) fn open_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(NO_LINK).open(path)
}

/// Creates a file, which must not exist.
pub(in crate::auth::store) fn create_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// The file system makes names durable with their files: a directory cannot be synchronized.
pub(in crate::auth::store) fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

/// The directory for data of programs: `%XDG_DATA_HOME%`, else `%LOCALAPPDATA%`.
pub(in crate::auth::store) fn data_directory() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("XDG_DATA_HOME").or_else(|| set("LOCALAPPDATA"))
}

/// Rejects an opened file that is not a regular one.
pub(in crate::auth::store) fn guard_file(file: &File, path: &Path) -> Result<(), StoreError> {
    let metadata = file.metadata().map_err(StoreError::io("inspect", path))?;
    if metadata.is_file() {
        return Ok(());
    }
    Err(StoreError::Foreign { path: path.to_owned(), problem: "is not a regular file" })
}
