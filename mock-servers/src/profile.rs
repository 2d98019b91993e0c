//! Profiles: scripts that are ready to be used and to be extended, and how scripts are read from files.
//!
//! It owns what `extends` means, and where a file departs from the format. It opens the files that it is told to, those
//! that they extend, and no others; the built-in profiles are part of the program.

mod extension;
mod misreading;
mod reading;

use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use thiserror::Error;

pub use self::misreading::Misreading;
use crate::script::Script;

/// The largest script file that is read.
const LARGEST: u64 = 4 << 20;
/// How many scripts may build upon each other.
const DEEPEST: usize = 16;

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

/// Why there is no script to be had.
#[derive(Debug, Error)]
pub enum ProfileError {
    /// A file cannot be read.
    #[error("cannot read the script {path}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file is larger than a script can be.
    #[error("{path} is larger than {LARGEST} bytes, which no script is")]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// A file is not what a script is.
    #[error(transparent)]
    Misread(#[from] Misreading),
    /// There is no such profile, nor a file of this name.
    #[error("unknown profile `{name}`; {advice}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What may have been meant.
        advice: String,
    },
}

/// The names of the built-in profiles.
pub fn names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

/// What a built-in profile is, in a sentence or two: the comment that it opens with.
#[must_use]
pub fn about(name: &str) -> Option<String> {
    let lines = built_in(name)?.lines().map_while(|line| line.strip_prefix('#'));
    Some(lines.map(str::trim).collect::<Vec<_>>().join(" "))
}

/// The script of a built-in profile or of a file, with everything that it extends. A name that is a profile's means the
/// profile; a file's ending `.json` makes it JSON, every other one YAML.
///
/// # Errors
/// When there is neither a profile nor a file of that name, or it or what it extends cannot be read as a script.
pub fn load(name_or_path: &str) -> Result<Script, ProfileError> {
    if let Some(text) = built_in(name_or_path) {
        return extended(reading::read(text, name_or_path)?, &Place::built_in(name_or_path, text), 0);
    }
    let path = Path::new(name_or_path);
    let looks_like_a_file = path.extension().is_some() || path.components().count() > 1;
    if !path.exists() && !looks_like_a_file {
        return Err(ProfileError::Unknown {
            name: name_or_path.to_owned(),
            advice: misreading::advice(name_or_path, names()),
        });
    }
    load_file(path, 0)
}

/// The script that a text holds, with everything that it extends. `file` is its name in messages; files that it extends
/// are looked for next to it.
///
/// # Errors
/// As of [`load`].
pub fn parse(text: &str, file: &str) -> Result<Script, ProfileError> {
    let place = Place { file, text, folder: Path::new(file).parent() };
    extended(reading::read(text, file)?, &place, 0)
}

/// The script with the built-in profiles that it extends. Files are not looked for: whoever has a script in hand and no
/// file that it came from extends profiles alone.
///
/// # Errors
/// When it extends what is no profile.
pub fn resolve(script: Script) -> Result<Script, ProfileError> {
    extended(script, &Place { file: "the script", text: "", folder: None }, 0)
}

/// The same for those who cannot refuse a script any more: what is no profile is left out.
pub(crate) fn resolve_or_report(mut script: Script) -> Script {
    let known = |name: &String| {
        let known = built_in(name).is_some();
        if !known {
            tracing::error!(name, "the script extends what is no profile");
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

/// Where a script stands.
struct Place<'a> {
    file: &'a str,
    text: &'a str,
    /// Where files are named from; none if files are not looked for.
    folder: Option<&'a Path>,
}

impl<'a> Place<'a> {
    fn built_in(name: &'a str, text: &'a str) -> Self {
        Self { file: name, text, folder: None }
    }
}

fn extended(mut script: Script, place: &Place<'_>, depth: usize) -> Result<Script, ProfileError> {
    let bases = std::mem::take(&mut script.extends);
    if bases.is_empty() {
        return Ok(script);
    }
    if depth == DEEPEST {
        let words = format!("more than {DEEPEST} scripts build upon each other");
        return Err(place.complaint(&bases[0], words, "is this one in a circle?".into()));
    }
    let mut base: Option<Script> = None;
    for name in &bases {
        let next = place.find(name, depth)?;
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

impl Place<'_> {
    fn find(&self, name: &str, depth: usize) -> Result<Script, ProfileError> {
        if let Some(text) = built_in(name) {
            return extended(reading::read(text, name)?, &Place::built_in(name, text), depth + 1);
        }
        match self.folder.map(|folder| folder.join(name)) {
            Some(path) if path.is_file() => load_file(&path, depth + 1),
            _ => Err(self.complaint(name, format!("unknown profile `{name}`"), misreading::advice(name, names()))),
        }
    }

    /// What is wrong with a name in `extends`.
    fn complaint(&self, name: &str, words: String, advice: String) -> ProfileError {
        if self.text.is_empty() {
            return ProfileError::Unknown { name: name.to_owned(), advice };
        }
        reading::complaint(self.text, self.file, name, words, advice).into()
    }
}

/// The text of a built-in profile, as YAML.
#[must_use]
pub fn built_in(name: &str) -> Option<&'static str> {
    BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

fn load_file(path: &Path, depth: usize) -> Result<Script, ProfileError> {
    let unreadable = |source| ProfileError::Unreadable { path: path.to_owned(), source };
    let mut text = String::new();
    let file = fs::File::open(path).map_err(unreadable)?;
    file.take(LARGEST + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > LARGEST {
        return Err(ProfileError::TooLarge { path: path.to_owned() });
    }
    let name = path.display().to_string();
    let place = Place { file: &name, text: &text, folder: path.parent() };
    extended(reading::read(&text, &name)?, &place, depth)
}

#[cfg(test)]
mod tests;
