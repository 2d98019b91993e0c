//! Profiles: scripts that can be used and extended, and reading of scripts from files.
//!
//! This module owns the meaning of `extends`. It opens only the given files and those that they extend; the built-in
//! profiles are part of the program.

mod extension;

use std::path::Path;

use diagnostics::{
    Diagnostic, Diagnostics, FileError,
    document::{Document, Source},
    nearest, printable,
};
use thiserror::Error;

use crate::script::{self, Script};

/// Maximum depth of `extends`.
const MAX_DEPTH: usize = 16;
/// Maximum number of scripts that one script extends in total: a few files that each extend the next one twice result
/// in a large number.
const MAX_SCRIPTS: usize = 200;

/// The built-in profiles, by their names.
const BUILT_IN: [(&str, &str); 17] = [
    ("minimal", include_str!("../profiles/minimal.yaml")),
    ("everything", include_str!("../profiles/everything.yaml")),
    ("primitives", include_str!("../profiles/primitives.yaml")),
    ("modern", include_str!("../profiles/modern.yaml")),
    ("large", include_str!("../profiles/large.yaml")),
    ("misbehaving/dying", include_str!("../profiles/misbehaving/dying.yaml")),
    ("misbehaving/endless-pages", include_str!("../profiles/misbehaving/endless-pages.yaml")),
    ("misbehaving/flaky", include_str!("../profiles/misbehaving/flaky.yaml")),
    ("misbehaving/flood", include_str!("../profiles/misbehaving/flood.yaml")),
    ("misbehaving/garbage", include_str!("../profiles/misbehaving/garbage.yaml")),
    ("misbehaving/hostile-content", include_str!("../profiles/misbehaving/hostile-content.yaml")),
    ("misbehaving/pagination-loop", include_str!("../profiles/misbehaving/pagination-loop.yaml")),
    ("misbehaving/schema-drift", include_str!("../profiles/misbehaving/schema-drift.yaml")),
    ("misbehaving/silent", include_str!("../profiles/misbehaving/silent.yaml")),
    ("misbehaving/slow", include_str!("../profiles/misbehaving/slow.yaml")),
    ("misbehaving/unreliable-http", include_str!("../profiles/misbehaving/unreliable-http.yaml")),
    ("misbehaving/wrong-ids", include_str!("../profiles/misbehaving/wrong-ids.yaml")),
];

/// Error of reading a script.
#[derive(Debug, Error)]
pub enum ProfileError {
    /// A file cannot be read, or is not a valid script.
    #[error(transparent)]
    File(#[from] FileError),
    /// There is neither a profile nor a file with this name.
    #[error("unknown profile `{}`; {advice}", printable(.name))]
    Unknown {
        /// The requested name.
        name: String,
        /// A similar name.
        advice: String,
    },
}

impl From<Diagnostics> for ProfileError {
    fn from(diagnostics: Diagnostics) -> Self {
        FileError::from(diagnostics).into()
    }
}

impl From<Diagnostic> for ProfileError {
    fn from(diagnostic: Diagnostic) -> Self {
        Diagnostics::from(diagnostic).into()
    }
}

/// The names of the built-in profiles.
pub fn names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

/// The description of a built-in profile: the comment at its beginning.
#[must_use]
pub fn about(name: &str) -> Option<String> {
    let lines = built_in(name)?.lines().map_while(|line| line.strip_prefix('#'));
    Some(lines.map(str::trim).collect::<Vec<_>>().join(" "))
}

/// The script of a built-in profile or of a file, with everything that it extends. Names of profiles precede files;
/// files that end in `.json` are JSON, all others YAML.
///
/// # Errors
/// When there is neither a profile nor a file of that name, or it or what it extends cannot be read as a script.
pub fn load(name_or_path: &str) -> Result<Script, ProfileError> {
    if let Some(text) = built_in(name_or_path) {
        return read(text, name_or_path, None, &mut Chain::default());
    }
    let path = Path::new(name_or_path);
    let looks_like_a_file = path.extension().is_some() || path.components().count() > 1;
    if !path.exists() && !looks_like_a_file {
        return Err(unknown(name_or_path));
    }
    load_file(path, &mut Chain::default())
}

/// The script in a text, with everything that it extends. `file` is its name in messages, and other files are relative
/// to its directory.
///
/// # Errors
/// Like [`load`].
pub fn parse(text: &str, file: &str) -> Result<Script, ProfileError> {
    let text = diagnostics::from_utf8(text.as_bytes(), file, &script::FORMAT)?;
    read(&text, file, Path::new(file).parent(), &mut Chain::default())
}

/// The script with the built-in profiles that it extends. A script without a file can only extend profiles.
///
/// # Errors
/// If it extends an unknown profile.
pub fn resolve(script: Script) -> Result<Script, ProfileError> {
    extended(script, None, &mut Chain::default())
}

/// The same for callers without error handling: unknown profiles are logged and omitted.
pub(crate) fn resolve_or_report(mut script: Script) -> Script {
    let known = |name: &String| {
        let known = built_in(name).is_some();
        if !known {
            tracing::error!(name, "the script extends an unknown profile");
        }
        known
    };
    if script.extends.is_empty() {
        return script;
    }
    script.extends.retain(known);
    let own = Script { extends: Vec::new(), ..script.clone() };
    resolve(script).unwrap_or(own)
}

/// Progress of reading extended scripts.
#[derive(Debug, Default)]
struct Chain {
    /// The current depth.
    depth: usize,
    /// The number of scripts so far.
    read: usize,
}

impl Chain {
    /// The limit that prevents reading the next script, with a remedy.
    fn refusal(&self) -> Option<(String, &'static str)> {
        if self.depth == MAX_DEPTH {
            return Some((format!("`extends` is nested more than {MAX_DEPTH} levels deep"), "check for a circle"));
        }
        let advice = "does a script extend another one several times?";
        (self.read == MAX_SCRIPTS).then(|| (format!("more than {MAX_SCRIPTS} extended scripts"), advice))
    }
}

/// The file of a script.
struct Origin<'a> {
    document: Document,
    /// Directory of the files that the script extends; `None` if it can extend profiles only.
    directory: Option<&'a Path>,
}

impl Origin<'_> {
    /// Creates an error about the name at this index in `extends`.
    fn error(&self, position: usize, message: impl AsRef<str>, help: impl AsRef<str>) -> Diagnostic {
        let location = self.document.root().key("extends").item(position).location();
        Diagnostic::new(self.document.source().name(), message).at(location).with_help(help)
    }
}

/// Reads a script and everything that it extends.
fn read(text: &str, file: &str, directory: Option<&Path>, chain: &mut Chain) -> Result<Script, ProfileError> {
    let mut document = Document::parse(Source::named(file, text), &script::FORMAT)?;
    let script = document.read()?;
    extended(script, Some(&Origin { document, directory }), chain)
}

/// The script with everything that it extends. Without a file it can only extend profiles.
fn extended(mut script: Script, origin: Option<&Origin<'_>>, chain: &mut Chain) -> Result<Script, ProfileError> {
    let mut base: Option<Script> = None;
    for (position, name) in std::mem::take(&mut script.extends).iter().enumerate() {
        if let (Some(origin), Some((message, advice))) = (origin, chain.refusal()) {
            return Err(origin.error(position, message, advice).into());
        }
        chain.depth += 1;
        chain.read += 1;
        let next = find(name, position, origin, chain)?;
        chain.depth -= 1;
        base = Some(match base {
            None => next,
            Some(earlier) => extension::extend(earlier, next),
        });
    }
    Ok(match base {
        None => script,
        Some(base) => extension::extend(base, script),
    })
}

/// The script of the name at this index in `extends`.
fn find(name: &str, position: usize, origin: Option<&Origin<'_>>, chain: &mut Chain) -> Result<Script, ProfileError> {
    if let Some(text) = built_in(name) {
        return read(text, name, None, chain);
    }
    let Some(origin) = origin else { return Err(unknown(name)) };
    match origin.directory.map(|directory| directory.join(name)) {
        Some(path) if path.is_file() => load_file(&path, chain),
        _ => Err(origin.error(position, format!("unknown profile `{name}`"), advice(name)).into()),
    }
}

fn unknown(name: &str) -> ProfileError {
    ProfileError::Unknown { name: name.to_owned(), advice: advice(name) }
}

/// The remedy for an unknown profile. The name of a profile may lack its directory.
fn advice(name: &str) -> String {
    let last = |name: &'static str| name.rsplit('/').next().unwrap_or_default();
    let meant = nearest::nearest(name, names()).or_else(|| {
        let near = nearest::nearest(name, names().map(last))?;
        names().find(|name| last(name) == near)
    });
    meant.map_or_else(|| nearest::known_names(&names().collect::<Vec<_>>()), |meant| format!("did you mean `{meant}`?"))
}

/// The text of a built-in profile, as YAML.
#[must_use]
pub fn built_in(name: &str) -> Option<&'static str> {
    BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

fn load_file(path: &Path, chain: &mut Chain) -> Result<Script, ProfileError> {
    let text = diagnostics::read_file(path, &script::FORMAT)?;
    read(&text, &path.display().to_string(), path.parent(), chain)
}

#[cfg(test)]
mod tests;
