//! Atomic replacement of a configuration file.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use super::{Edit, EditError, apply, empty};
use crate::config::{Diagnostic, file::read_text, keys::Format};

/// Reasons why a file cannot be edited.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The name does not end in `.toml` or `.json`.
    #[error("the format of {} is unknown; use a name that ends in `.toml` or `.json`", path.display())]
    Format {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be read.
    #[error("cannot read the file")]
    Unread {
        /// The reason.
        problem: Box<Diagnostic>,
    },
    /// The edit cannot be applied.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The file cannot be written.
    #[error("cannot write {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The I/O error.
        #[source]
        source: io::Error,
    },
}

/// Edits a file and returns its path after following links. A missing file is created; if `private`, only the owner can read
/// it. Blocks while another process edits a file of the directory with this function.
///
/// # Errors
/// If the file cannot be read or written, or the edit cannot be applied. Then the file is unchanged.
pub fn edit_file(path: &Path, edit: &Edit, private: bool) -> Result<PathBuf, WriteError> {
    let format = Format::from_path(path).ok_or_else(|| WriteError::Format { path: path.to_owned() })?;
    let real = resolved(path);
    let failed = |source| WriteError::Io { path: real.clone(), source };
    let directory = real.parent().unwrap_or(Path::new("."));
    make_directory(directory, private).map_err(failed)?;
    // The kernel releases the lock when this process exits.
    let guard = lock(directory).map_err(failed)?;
    let name = path.display().to_string();
    let text = read_text(&real, &name).map_err(|problem| WriteError::Unread { problem: Box::new(problem) })?;
    let changed = apply(text.as_deref().unwrap_or(empty(format)), format, edit);
    let changed = changed.map_err(|error| with_file_name(error, &name))?;
    if text.as_deref() != Some(&changed) {
        replace(&real, directory, &changed, private).map_err(failed)?;
    }
    drop(guard);
    Ok(real)
}

/// Sets the file name of the errors.
fn with_file_name(error: EditError, name: &str) -> EditError {
    match error {
        EditError::Unread { problems } => {
            let rename = |problem| Diagnostic { file: name.to_owned(), ..problem };
            EditError::Unread { problems: problems.into_iter().map(rename).collect() }
        }
        error => error,
    }
}

/// Follows links. The target of a link may not exist yet.
fn resolved(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    // A cycle of links becomes an error when the file is opened.
    for _ in 0..40 {
        let Ok(target) = fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    if path.parent().is_some_and(|parent| parent.as_os_str().is_empty()) {
        return Path::new(".").join(path);
    }
    path
}

fn make_directory(directory: &Path, private: bool) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    if private {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    #[cfg(not(unix))]
    let _ = private;
    builder.create(directory)
}

/// Locks the directory until the result is dropped. Windows cannot open directories, so nothing is locked there.
fn lock(directory: &Path) -> io::Result<Option<File>> {
    if cfg!(windows) {
        return Ok(None);
    }
    let directory = File::open(directory)?;
    match directory.lock() {
        // Some file systems have no locks.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(None),
        locked => locked.map(|()| Some(directory)),
    }
}

/// Lets others read a file.
#[cfg(unix)]
fn permit_reading(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

/// Files have the permissions of their directory.
#[cfg(not(unix))]
fn permit_reading(_: &File) -> io::Result<()> {
    Ok(())
}

fn replace(path: &Path, directory: &Path, text: &str, private: bool) -> io::Result<()> {
    let mut file = NamedTempFile::new_in(directory)?;
    file.write_all(text.as_bytes())?;
    match fs::metadata(path) {
        Ok(found) => file.as_file().set_permissions(found.permissions())?,
        // Only the owner can read a temporary file.
        Err(_) if !private => permit_reading(file.as_file())?,
        Err(_) => {}
    }
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
