//! A file with a new text: all of it, or what was there before.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use super::{Edit, EditError, apply, empty};
use crate::config::{Diagnostic, file::read_text, tree::Format};

/// Why a file was not changed.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Its name does not say how it is written.
    #[error("{} is neither TOML nor JSON by its name", path.display())]
    Format {
        /// The file.
        path: PathBuf,
    },
    /// It cannot be read.
    #[error("the file cannot be read")]
    Unread {
        /// Why.
        problem: Box<Diagnostic>,
    },
    /// The change cannot be made.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// It cannot be written.
    #[error("{} cannot be written", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// Changes a file, and tells which one it was in the end. Links are followed; a file that is not there is made, for its owner
/// alone where `private` says so. Others who change it meanwhile wait, if they do it by this function.
///
/// # Errors
/// When the file cannot be read or written, or the change cannot be made. The file is then as it was.
pub fn edit_file(path: &Path, edit: &Edit, private: bool) -> Result<PathBuf, WriteError> {
    let format = Format::from_path(path).ok_or_else(|| WriteError::Format { path: path.to_owned() })?;
    let real = resolved(path);
    let failed = |source| WriteError::Io { path: real.clone(), source };
    let folder = real.parent().unwrap_or(Path::new("."));
    make_folder(folder, private).map_err(failed)?;
    // The kernel lets it go when this process ends, however that happens.
    let guard = lock(folder).map_err(failed)?;
    let name = path.display().to_string();
    let text = read_text(&real, &name).map_err(|problem| WriteError::Unread { problem: Box::new(problem) })?;
    let changed = apply(text.as_deref().unwrap_or(empty(format)), format, edit);
    let changed = changed.map_err(|error| named(error, &name))?;
    if text.as_deref() != Some(&changed) {
        replace(&real, folder, &changed, private).map_err(failed)?;
    }
    drop(guard);
    Ok(real)
}

/// The problems of a text are those of its file.
fn named(error: EditError, name: &str) -> EditError {
    match error {
        EditError::Unread { problems } => {
            let rename = |problem| Diagnostic { file: name.to_owned(), ..problem };
            EditError::Unread { problems: problems.into_iter().map(rename).collect() }
        }
        error => error,
    }
}

/// Where a path leads. A link to a file that is not there yet leads to where that would be.
fn resolved(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    // A chain of links that never ends is told by whoever opens it.
    for _ in 0..40 {
        let Ok(target) = fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    if path.parent().is_some_and(|parent| parent.as_os_str().is_empty()) {
        return Path::new(".").join(path);
    }
    path
}

fn make_folder(folder: &Path, private: bool) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    if private {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    #[cfg(not(unix))]
    let _ = private;
    builder.create(folder)
}

/// Keeps others away from the folder's files, as long as the outcome lives. Where folders cannot be opened there is no lock.
fn lock(folder: &Path) -> io::Result<Option<File>> {
    if cfg!(windows) {
        return Ok(None);
    }
    let folder = File::open(folder)?;
    match folder.lock() {
        // Some file systems have no locks.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(None),
        locked => locked.map(|()| Some(folder)),
    }
}

fn replace(path: &Path, folder: &Path, text: &str, private: bool) -> io::Result<()> {
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    match fs::metadata(path) {
        Ok(found) => file.as_file().set_permissions(found.permissions())?,
        #[cfg(unix)]
        Err(_) if !private => {
            use std::os::unix::fs::PermissionsExt as _;
            // Temporary files are their owner's alone; this one others are to read.
            file.as_file().set_permissions(fs::Permissions::from_mode(0o644))?;
        }
        Err(_) => {}
    }
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
