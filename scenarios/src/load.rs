//! Loading: text to [`Scenario`], with exact places for what is wrong with it.
//!
//! It owns what a scenario file must not say: [`Scenario`] owns the shapes, this module everything beyond them. A bad
//! shape stops at the first error; bad meaning is collected and told all at once. It opens no file but the one it is
//! told to, and prints nothing.

use std::path::Path;

use mock_servers::{
    profile,
    reading::{self, FileError, Source, Tree},
};

use crate::model::Scenario;

mod errors;
mod meaning;
mod vocabulary;
mod words;

pub use errors::LoadErrors;
pub use mock_servers::reading::{Diagnostic, Place};
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
    let text = reading::from_utf8(bytes, file, &words::FORMAT).map_err(LoadErrors::one)?;
    from_text(Source { file, text: &text }, vocabulary)
}

fn from_text(source: Source<'_>, vocabulary: &Vocabulary) -> Result<Loaded, LoadErrors> {
    let tree = Tree::read(source, &words::FORMAT).map_err(LoadErrors::one)?;
    let scenario = reading::yaml(&tree).map_err(LoadErrors::one)?;
    match LoadErrors::several(meaning::judge(&scenario, &tree, vocabulary)) {
        Some(errors) => Err(errors),
        None => {
            let id = tree.root().key("scenario").place();
            Ok(Loaded { scenario: resolved(scenario), file: source.file.to_owned(), id })
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
    let text = reading::read_file(path, &words::FORMAT).map_err(|cause| {
        LoadErrors::one(match cause {
            FileError::Wrong(diagnostic) => diagnostic,
            FileError::Unreadable { source, .. } => {
                Diagnostic::new(&file, format!("the file cannot be read: {source}"))
            }
        })
    })?;
    from_text(Source { file: &file, text: &text }, vocabulary)
}
