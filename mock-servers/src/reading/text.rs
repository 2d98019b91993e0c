//! From a file to text: within the limits, in UTF-8, with one kind of line end.

use std::{
    borrow::Cow,
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use thiserror::Error;

use super::{Diagnostic, Format, Place, printable};

/// Why a file could not be read into a value.
#[derive(Debug, Error)]
pub enum FileError {
    /// The file cannot be read.
    #[error("cannot read {}", printable(&.path.display().to_string()))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file says what it must not.
    #[error(transparent)]
    Wrong(#[from] Diagnostic),
}

/// Reads a file, and no more of it than what shows that it is too large: it may be an endless device.
///
/// # Errors
/// When it cannot be read, is too large, or is not text.
pub fn read_file(path: &Path, format: &Format) -> Result<String, FileError> {
    let unreadable = |source| FileError::Unreadable { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    let limit = format.limits.bytes;
    File::open(path).map_err(unreadable)?.take(limit as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    let file = path.display().to_string();
    if bytes.len() > limit {
        return Err(too_large(&file, format, &format!("more than {limit}")).into());
    }
    Ok(from_utf8(&bytes, &file, format)?.into_owned())
}

/// The text that the bytes of a file hold: without a byte order mark, and with line feeds alone between lines. `file` is
/// its name in messages.
///
/// # Errors
/// When the bytes are too many, or not UTF-8.
pub fn from_utf8<'a>(bytes: &'a [u8], file: &str, format: &Format) -> Result<Cow<'a, str>, Diagnostic> {
    if bytes.len() > format.limits.bytes {
        return Err(too_large(file, format, &bytes.len().to_string()));
    }
    let text = std::str::from_utf8(bytes).map_err(|cause| not_utf8(bytes, file, cause.valid_up_to()))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // YAML knows three ends of a line, and reads all of them as a line feed (YAML 1.2.2, 5.4).
    Ok(if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n").into() } else { text.into() })
}

fn too_large(file: &str, format: &Format, size: &str) -> Diagnostic {
    let Format { noun, limits, .. } = format;
    let message = format!("the file holds {size} bytes; a {noun} is at most {} MiB", limits.bytes >> 20);
    Diagnostic::new(file, message).advise(format!("is this a {noun} at all?"))
}

/// The place where the bytes stop being text.
fn not_utf8(bytes: &[u8], file: &str, valid_up_to: usize) -> Diagnostic {
    let valid = String::from_utf8_lossy(&bytes[..valid_up_to]);
    let line = valid.matches('\n').count() + 1;
    let excerpt = valid.rsplit('\n').next().unwrap_or_default();
    let column = excerpt.chars().count() + 1;
    let place = Place { line, column, width: 1, excerpt: format!("{excerpt}\u{fffd}"), cut: 0 };
    let message = format!("the byte 0x{:02x} is not UTF-8", bytes[valid_up_to]);
    Diagnostic::new(file, message).at(place).advise("save the file as UTF-8")
}
