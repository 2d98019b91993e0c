//! Where the whole of a cut output is kept.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::SystemTime,
};

/// What the names of all files begin with; nothing else in the directory is touched.
const PREFIX: &str = "output-";

/// A directory for outputs that were cut. Only its owner may look into it (mode 0700, its files 0600); when there is too much
/// in it, the oldest go.
#[derive(Debug, Clone)]
pub struct OutputStore {
    directory: PathBuf,
    most: u64,
}

/// Why an output could not be kept.
#[derive(Debug, thiserror::Error)]
pub enum OutputStoreError {
    /// It alone is more than may be kept.
    #[error("it is larger than all that may be kept")]
    TooLarge,
    /// The directory is something else, a link for instance.
    #[error("{} is not a directory of its own", path.display())]
    NoDirectory {
        /// The path.
        path: PathBuf,
    },
    /// The system refused.
    #[error("{} cannot be written to ({error})", path.display())]
    Write {
        /// The directory.
        path: PathBuf,
        /// Why not.
        #[source]
        error: io::Error,
    },
}

impl OutputStore {
    /// Keeps outputs in this directory, `most` bytes of them. It is made when it is needed.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>, most: u64) -> Self {
        Self { directory: directory.into(), most }
    }

    /// Keeps a text in a file of its own. It writes to the disk before it returns.
    ///
    /// # Errors
    /// If it cannot be kept; nothing half-written is left.
    pub fn keep(&self, text: &str, extension: &str) -> Result<PathBuf, OutputStoreError> {
        let size = text.len() as u64;
        if size > self.most {
            return Err(OutputStoreError::TooLarge);
        }
        self.make_directory()?;
        let write = |error| OutputStoreError::Write { path: self.directory.clone(), error };
        self.make_room(size).map_err(write)?;
        let suffix = format!(".{extension}");
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX).suffix(&suffix).rand_bytes(12);
        own_file(&mut builder);
        let mut file = builder.tempfile_in(&self.directory).map_err(write)?;
        file.write_all(text.as_bytes()).and_then(|()| file.flush()).map_err(write)?;
        let (_, path) = file.keep().map_err(|error| write(error.error))?;
        Ok(path)
    }

    fn make_directory(&self) -> Result<(), OutputStoreError> {
        let write = |error| OutputStoreError::Write { path: self.directory.clone(), error };
        let mut builder = fs::DirBuilder::new();
        own_directory(builder.recursive(true)).create(&self.directory).map_err(write)?;
        // Where somebody has put a link, the files would go where that leads.
        let is_directory = fs::symlink_metadata(&self.directory).map_err(write)?.is_dir();
        if !is_directory {
            return Err(OutputStoreError::NoDirectory { path: self.directory.clone() });
        }
        close_to_others(&self.directory).map_err(write)
    }

    /// Removes the oldest files until there is room. One that another process has removed is gone as well.
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
            if total + size <= self.most {
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
fn own_directory(builder: &mut fs::DirBuilder) -> &mut fs::DirBuilder {
    std::os::unix::fs::DirBuilderExt::mode(builder, 0o700)
}

#[cfg(unix)]
fn close_to_others(directory: &Path) -> io::Result<()> {
    fs::set_permissions(directory, std::os::unix::fs::PermissionsExt::from_mode(0o700))
}

#[cfg(unix)]
fn own_file(builder: &mut tempfile::Builder<'_, '_>) {
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600));
}

// Elsewhere what a user makes in the own profile is closed to others by what it inherits.
#[cfg(not(unix))]
fn own_directory(builder: &mut fs::DirBuilder) -> &mut fs::DirBuilder {
    builder
}

#[cfg(not(unix))]
fn close_to_others(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
fn own_file(_: &mut tempfile::Builder<'_, '_>) {}
