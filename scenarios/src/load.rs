//! Loading: text to [`Scenario`], with exact places for what is wrong with it.
//!
//! It owns what a scenario file must not say: [`Scenario`] owns the shapes, this module everything beyond them. A bad
//! shape stops at the first error; bad meaning is collected and told all at once. It opens no file but the one it is
//! told to, and prints nothing.

use std::{borrow::Cow, path::Path};

use mock_servers::profile;

use crate::model::Scenario;

mod diagnostic;
mod meaning;
pub(crate) mod nearest;
mod shape;
mod tree;
mod vocabulary;

pub use diagnostic::{Diagnostic, LoadErrors, Place};
pub use vocabulary::{ERROR_KINDS, Vocabulary};

/// A scenario, and where it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The scenario.
    pub scenario: Scenario,
    /// The file, as it was named.
    pub file: String,
    /// The place of its id.
    pub id: Place,
}

/// Loads a scenario from text. `file` is the name to be shown in messages.
///
/// # Errors
/// When the text is not YAML, not of the shape of a scenario, or makes no sense.
pub fn from_str(text: &str, file: &str) -> Result<Scenario, LoadErrors> {
    from_bytes(text.as_bytes(), file, Vocabulary::built_in()).map(|loaded| loaded.scenario)
}

/// Loads a scenario from bytes, with the requirements and checks that it may name.
///
/// # Errors
/// When the bytes are too many, not UTF-8, not YAML, not of the shape of a scenario, or make no sense.
pub fn from_bytes(bytes: &[u8], file: &str, vocabulary: &Vocabulary) -> Result<Loaded, LoadErrors> {
    if bytes.len() > tree::MAX_BYTES {
        let message =
            format!("the file holds {} bytes; a scenario is at most {} MiB", bytes.len(), tree::MAX_BYTES >> 20);
        return Err(LoadErrors::one(Diagnostic::new(file, message).advise("is this a scenario at all?")));
    }
    let text =
        std::str::from_utf8(bytes).map_err(|cause| LoadErrors::one(not_utf8(bytes, file, cause.valid_up_to())))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // YAML knows three ends of a line, and reads all of them as a line feed (YAML 1.2.2, 5.4).
    let text =
        if text.contains('\r') { Cow::from(text.replace("\r\n", "\n").replace('\r', "\n")) } else { text.into() };
    let source = tree::Source { file, text: &text };
    let tree = tree::Tree::read(source).map_err(LoadErrors::one)?;
    let scenario = shape::read(source, &tree).map_err(LoadErrors::one)?;
    match LoadErrors::several(meaning::judge(&scenario, &tree, vocabulary)) {
        Some(errors) => Err(errors),
        None => {
            Ok(Loaded { scenario: resolved(scenario), file: file.to_owned(), id: tree.root().key("scenario").place() })
        }
    }
}

/// The scenario with everything that its servers extend, so that whoever runs it sees whole scripts. What is no profile
/// has been refused before.
fn resolved(mut scenario: Scenario) -> Scenario {
    for script in scenario.server.iter_mut().chain(scenario.servers.values_mut()) {
        if let Ok(whole) = profile::resolve(script.clone()) {
            *script = whole;
        }
    }
    scenario
}

/// Loads a scenario from a file.
///
/// # Errors
/// As of [`from_bytes`], and when the file cannot be read.
pub fn from_file(path: &Path, vocabulary: &Vocabulary) -> Result<Loaded, LoadErrors> {
    let file = path.display().to_string();
    let bytes = read_bounded(path)
        .map_err(|cause| LoadErrors::one(Diagnostic::new(&file, format!("the file cannot be read: {cause}"))))?;
    from_bytes(&bytes, &file, vocabulary)
}

/// Reads no more of a file than what shows that it is too large: it may be an endless device.
fn read_bounded(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read as _;

    let mut bytes = Vec::new();
    let limit = tree::MAX_BYTES as u64 + 1;
    std::fs::File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The place where the bytes stop being text.
fn not_utf8(bytes: &[u8], file: &str, valid_up_to: usize) -> Diagnostic {
    let valid = String::from_utf8_lossy(&bytes[..valid_up_to]);
    let line = valid.matches('\n').count() + 1;
    let excerpt = valid.rsplit('\n').next().unwrap_or_default();
    let column = excerpt.chars().count() + 1;
    let place = Place { line, column, width: 1, excerpt: format!("{excerpt}\u{fffd}") };
    let message = format!("the byte 0x{:02x} is not UTF-8", bytes[valid_up_to]);
    Diagnostic::new(file, message).at(place).advise("save the file as UTF-8")
}

/// The keys whose value is a length of time, for the test that compares them with the schema.
#[cfg(test)]
pub(crate) fn period_keys() -> &'static [&'static str] {
    shape::PERIODS
}
