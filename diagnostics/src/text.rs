//! Reads files as UTF-8 text within the size limit of their format.

use std::{
    borrow::Cow,
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use thiserror::Error;

use crate::{Diagnostic, Diagnostics, Location, document::Format, printable};

/// Reasons why a file cannot be read into a value.
#[derive(Debug, Error)]
pub enum FileError {
    /// The file cannot be read.
    #[error("cannot read {}", printable(&.path.display().to_string()))]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// The I/O error.
        #[source]
        source: io::Error,
    },
    /// The contents are invalid.
    #[error(transparent)]
    Invalid(#[from] Diagnostics),
}

/// Reads a file. At most one byte more than the limit is read, because the file may be an endless device.
///
/// # Errors
/// If the file cannot be read, is too large or not UTF-8.
pub fn read_file(path: &Path, format: &Format) -> Result<String, FileError> {
    let unreadable = |source| FileError::Unreadable { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    let limit = format.limits.bytes;
    File::open(path).map_err(unreadable)?.take(limit as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    let file = path.display().to_string();
    if bytes.len() > limit {
        let error = too_large(&file, format, &format!("more than {limit}"));
        return Err(Diagnostics::from(error).into());
    }
    Ok(from_utf8(&bytes, &file, format).map_err(Diagnostics::from)?.into_owned())
}

/// Decodes the bytes of a file. Removes a byte order mark and converts line ends to line feeds. `file` is the name in
/// messages.
///
/// # Errors
/// If the bytes exceed the limit of the format or are not UTF-8.
pub fn from_utf8<'a>(bytes: &'a [u8], file: &str, format: &Format) -> Result<Cow<'a, str>, Diagnostic> {
    if bytes.len() > format.limits.bytes {
        return Err(too_large(file, format, &bytes.len().to_string()));
    }
    let text = std::str::from_utf8(bytes).map_err(|cause| not_utf8(bytes, file, cause.valid_up_to()))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // YAML has three line ends and reads each as a line feed (YAML 1.2.2, 5.4).
    Ok(if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n").into() } else { text.into() })
}

fn too_large(file: &str, format: &Format, size: &str) -> Diagnostic {
    let Format { noun, limits, .. } = format;
    let message = format!("file size is {size} bytes; the limit for a {noun} is {} MiB", limits.bytes >> 20);
    Diagnostic::new(file, message).with_help(format!("check that this is a {noun}"))
}

fn not_utf8(bytes: &[u8], file: &str, valid_up_to: usize) -> Diagnostic {
    let valid = String::from_utf8_lossy(&bytes[..valid_up_to]);
    let line = valid.matches('\n').count() + 1;
    let excerpt = valid.rsplit('\n').next().unwrap_or_default();
    let column = excerpt.chars().count() + 1;
    let location = Location { line, column, width: 1, excerpt: format!("{excerpt}\u{fffd}"), omitted: 0 };
    let message = format!("the byte 0x{:02x} is not UTF-8", bytes[valid_up_to]);
    Diagnostic::new(file, message).at(location).with_help("save the file as UTF-8")
}
