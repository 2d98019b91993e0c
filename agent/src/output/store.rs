//! Files with the complete text of truncated outputs.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::SystemTime,
};

/// Prefix of all file names. Other files in the directory are not touched.
const PREFIX: &str = "output-";

/// A directory for complete outputs. Only the owner can read it (mode 0700, files 0600). The oldest files are deleted first.
#[derive(Debug, Clone)]
pub struct OutputStore {
    directory: PathBuf,
    max_bytes: u64,
}

/// Why an output could not be stored.
#[derive(Debug, thiserror::Error)]
pub enum OutputStoreError {
    /// The output is larger than the limit of the directory.
    #[error("the output is larger than the size limit of the store")]
    TooLarge,
    /// The path is not a directory, for example a symbolic link.
    #[error("{} is not a directory", path.display())]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// A file system operation failed.
    #[error("{} cannot be written to ({error})", path.display())]
    Write {
        /// The directory.
        path: PathBuf,
        /// The error.
        #[source]
        error: io::Error,
    },
}

impl OutputStore {
    /// Stores at most `max_bytes` in this directory. The directory is created on first use.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>, max_bytes: u64) -> Self {
        Self { directory: directory.into(), max_bytes }
    }

    /// Writes a text to a new file (blocking).
    ///
    /// # Errors
    /// If it cannot be stored; no partial file remains.
    pub fn write(&self, text: &str, extension: &str) -> Result<PathBuf, OutputStoreError> {
        let size = text.len() as u64;
        if size > self.max_bytes {
            return Err(OutputStoreError::TooLarge);
        }
        self.create_directory()?;
        let failed = |error| OutputStoreError::Write { path: self.directory.clone(), error };
        self.make_room(size).map_err(failed)?;
        let suffix = format!(".{extension}");
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX).suffix(&suffix).rand_bytes(12);
        private_file(&mut builder);
        let mut file = builder.tempfile_in(&self.directory).map_err(failed)?;
        file.write_all(text.as_bytes()).and_then(|()| file.flush()).map_err(failed)?;
        let (_, path) = file.keep().map_err(|error| failed(error.error))?;
        Ok(path)
    }

    fn create_directory(&self) -> Result<(), OutputStoreError> {
        let failed = |error| OutputStoreError::Write { path: self.directory.clone(), error };
        let mut builder = fs::DirBuilder::new();
        private_directory(builder.recursive(true)).create(&self.directory).map_err(failed)?;
        // Through a symbolic link, the files would be written to a directory chosen by another user.
        let is_directory = fs::symlink_metadata(&self.directory).map_err(failed)?.is_dir();
        if !is_directory {
            return Err(OutputStoreError::NotADirectory { path: self.directory.clone() });
        }
        restrict_access(&self.directory).map_err(failed)
    }

    /// Deletes the oldest files until there is room. Another process may delete the same files.
    fn make_room(&self, size: u64) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            if let (true, Ok(data)) = (entry.file_name().to_string_lossy().starts_with(PREFIX), entry.metadata())
                && data.is_file()
            {
                files.push((data.modified().unwrap_or(SystemTime::UNIX_EPOCH), data.len(), entry.path()));
            }
        }
        files.sort();
        let mut total: u64 = files.iter().map(|(_, size, _)| size).sum();
        for (_, length, path) in files {
            if total + size <= self.max_bytes {
                break;
            }
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => total -= length,
            }
        }
        Ok(())
    }
}

#[cfg(unix)]
fn private_directory(builder: &mut fs::DirBuilder) -> &mut fs::DirBuilder {
    std::os::unix::fs::DirBuilderExt::mode(builder, 0o700)
}

#[cfg(unix)]
fn restrict_access(directory: &Path) -> io::Result<()> {
    fs::set_permissions(directory, std::os::unix::fs::PermissionsExt::from_mode(0o700))
}

#[cfg(unix)]
fn private_file(builder: &mut tempfile::Builder<'_, '_>) {
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600));
}

// On other systems, files in a user's profile inherit access rights that exclude other users.
#[cfg(not(unix))]
fn private_directory(builder: &mut fs::DirBuilder) -> &mut fs::DirBuilder {
    builder
}

#[cfg(not(unix))]
fn restrict_access(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
fn private_file(_: &mut tempfile::Builder<'_, '_>) {}
