//! Loads and validates scenario files. Each error has a location and a suggested fix.
//!
//! [`Scenario`] defines the shape of a file, and `validate` all further rules. The errors of a file are reported together;
//! if its shape has errors, of the further ones only misspelled names are reported.

use std::path::Path;

pub use diagnostics::{Diagnostic, Diagnostics as LoadErrors, Location};
use diagnostics::{
    FileError,
    document::{Document, Partial, Source},
};
use mock_servers::profile;

use crate::model::{ClientStep, Scenario, ServerStep, Steps};

mod validate;
mod vocabulary;
mod words;

pub use vocabulary::Vocabulary;

/// A scenario and its source.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The scenario.
    pub scenario: Scenario,
    /// The file, as given by the user.
    pub file: String,
    /// The location of its id.
    pub id: Location,
}

/// Loads a scenario from text. `file` is its name in messages.
///
/// # Errors
/// If the text is not YAML, or not a valid scenario.
pub fn from_str(text: &str, file: &str) -> Result<Scenario, LoadErrors> {
    from_bytes(text.as_bytes(), file, Vocabulary::built_in()).map(|loaded| loaded.scenario)
}

/// Loads a scenario from bytes. `vocabulary` contains the known requirements and checks.
///
/// # Errors
/// If the bytes are too many, not UTF-8, not YAML, or not a valid scenario.
pub fn from_bytes(bytes: &[u8], file: &str, vocabulary: &Vocabulary) -> Result<Loaded, LoadErrors> {
    let text = diagnostics::from_utf8(bytes, file, &words::FORMAT)?;
    from_text(&text, file, vocabulary)
}

fn from_text(text: &str, file: &str, vocabulary: &Vocabulary) -> Result<Loaded, LoadErrors> {
    let mut document = Document::parse(Source::named(file, text), &words::FORMAT)?;
    let Partial { value, mut errors, is_complete } = read(&mut document);
    if let Some(scenario) = &value {
        let problems = validate::check(scenario, &document, vocabulary);
        // Other problems may only result from the parts that could not be read.
        errors.extend(problems.into_iter().filter(|error| is_complete || is_misspelling(error)));
        errors.sort_by_key(|error| error.location.as_ref().map_or((usize::MAX, 0), |at| (at.line, at.column)));
    }
    match (value, LoadErrors::new(errors)) {
        (_, Some(errors)) => Err(errors),
        (Some(scenario), None) => {
            let id = document.root().key("scenario").location();
            Ok(Loaded { scenario: resolved(scenario, file), file: file.to_owned(), id })
        }
        (None, None) => Err(Diagnostic::new(file, "not a scenario").into()),
    }
}

fn is_misspelling(error: &Diagnostic) -> bool {
    error.help.as_ref().is_some_and(|help| help.starts_with("did you mean"))
}

/// The kinds of files that `check` knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A scenario.
    Scenario,
    /// The script of a mock server.
    MockScript,
    /// The script of a mock authorization server.
    AuthorizationScript,
}

/// Detects the kind of a file by its top-level keys, including misspelled ones. A file without any known key counts as a
/// scenario. If both kinds of scripts are possible, a valid authorization server script counts as such.
///
/// # Errors
/// If the file cannot be read, or is not YAML.
pub fn kind_of(path: &Path) -> Result<FileKind, LoadErrors> {
    let file = path.display().to_string();
    let text = read_text(path, &file)?;
    let document = Document::parse(Source::named(&file, &text), &words::FORMAT)?;
    let count = |schema: &str| {
        let schema: serde_json::Value = serde_json::from_str(schema).unwrap_or_default();
        let valid: Vec<&str> =
            schema["properties"].as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
        let keys = document.root().entries().filter_map(|entry| entry.name());
        keys.filter(|key| words::FORMAT.meant(key, &valid).is_some()).count()
    };
    let kinds = [
        (count(&crate::schema::schema_file().1), FileKind::Scenario),
        (count(&mock_servers::schema::script_file().1), FileKind::MockScript),
        (count(&mock_servers::schema::authorization_script_file().1), FileKind::AuthorizationScript),
    ];
    let [(scenario, _), (mock, _), (authorization, _)] = kinds;
    if mock == authorization && mock > scenario && mock_servers::oauth::script::parse(&text, &file).is_ok() {
        return Ok(FileKind::AuthorizationScript);
    }
    let most = kinds.iter().map(|(count, _)| *count).max();
    Ok(kinds.into_iter().find(|(count, _)| Some(*count) == most).map_or(FileKind::Scenario, |(_, kind)| kind))
}

/// Reads a scenario with the steps of its subject.
fn read(document: &mut Document) -> Partial<Scenario> {
    let is_server = document.root().key("subject").text() == Some("server");
    let (value, errors, is_complete) = if is_server {
        let partial = document.read_partly::<Scenario<Vec<ServerStep>>>();
        let value = partial.value.map(|scenario| scenario.map_steps(Steps::Server));
        (value, partial.errors, partial.is_complete)
    } else {
        let partial = document.read_partly::<Scenario<Vec<ClientStep>>>();
        let value = partial.value.map(|scenario| scenario.map_steps(Steps::Client));
        (value, partial.errors, partial.is_complete)
    };
    let other = if is_server { "clients" } else { "servers" };
    let errors = errors.into_iter().map(|error| explain_step(error, other)).collect();
    Partial { value, errors, is_complete }
}

/// Reads a scenario for a test, without validation.
#[cfg(test)]
pub(crate) fn unvalidated(text: &str) -> Scenario {
    let mut document = Document::parse(Source::named("test.yaml", text), &words::FORMAT).expect("YAML");
    read(&mut document).value.expect("the shape of a scenario")
}

/// Improves the error for a step of the other subject.
fn explain_step(error: Diagnostic, other: &str) -> Diagnostic {
    let (steps, valid): (&[&str], &[&str]) = match other {
        "servers" => (&ServerStep::KINDS, &ClientStep::KINDS),
        _ => (&ClientStep::KINDS, &ServerStep::KINDS),
    };
    match steps.iter().find(|step| error.message == format!("unknown step `{step}`")) {
        Some(step) => {
            let message = format!("`{step}` is a step for {other}");
            Diagnostic { message, ..error }.with_help(format!("valid steps for this subject are {}", valid.join(", ")))
        }
        None => error,
    }
}

/// Replaces the scripts of the servers by complete ones, with the profiles that they extend. Validation has rejected
/// unknown profiles. The path of data becomes relative to the working directory. Each repetition of a step becomes a step.
fn resolved(mut scenario: Scenario, file: &str) -> Scenario {
    if let Some(data) = scenario.load.as_mut().and_then(|load| load.data.as_mut())
        && let Some(directory) = Path::new(file).parent()
    {
        *data = directory.join(&*data);
    }
    for script in scenario.server.iter_mut().chain(scenario.servers.values_mut()) {
        if let Ok(whole) = profile::resolve(script.clone()) {
            *script = whole;
        }
    }
    if let Steps::Client(steps) = &mut scenario.steps {
        *steps = std::mem::take(steps).into_iter().flat_map(ClientStep::repeated).collect();
    }
    scenario
}

/// Loads a scenario from a file.
///
/// # Errors
/// Like [`from_bytes`], or if the file cannot be read.
pub fn from_file(path: &Path, vocabulary: &Vocabulary) -> Result<Loaded, LoadErrors> {
    let file = path.display().to_string();
    let text = read_text(path, &file)?;
    from_text(&text, &file, vocabulary)
}

fn read_text(path: &Path, file: &str) -> Result<String, LoadErrors> {
    diagnostics::read_file(path, &words::FORMAT).map_err(|cause| match cause {
        FileError::Invalid(errors) => errors,
        FileError::Unreadable { source, .. } => {
            Diagnostic::new(file, format!("the file cannot be read: {source}")).into()
        }
    })
}
