//! The catalog: the scenarios that are part of the program, and those that a user keeps in files and folders.
//!
//! All errors of all files are told together, and an id belongs to one file. In a catalog folder a file's place says
//! its id too (`<area>/<name>.yaml`), so that a scenario can be found; a file that is named by itself may lie anywhere.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use include_dir::{Dir, include_dir};

use crate::{
    load::{self, Diagnostic, LoadErrors, Loaded, Vocabulary},
    model::Scenario,
    select::{Runner, SelectError},
};

/// Scenarios that were renamed, with their current ids. Journals and baselines written before still name the old ones.
const RENAMED: &[(&str, &str)] = &[("asks/nobody-there", "client-features/no-user")];
/// Areas that were renamed.
const RENAMED_AREAS: &[(&str, &str)] = &[("asks", "client-features")];

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/catalog");

/// The most files that are read from a folder: more of them are no catalog, but a folder named by mistake.
const MAX_FILES: usize = 10_000;
/// The deepest folder that is looked into.
const MAX_DEPTH: usize = 8;

/// Scenarios, each with its file. No two have the same id.
#[derive(Debug, Clone, Default)]
pub struct ScenarioCatalog {
    entries: Vec<Entry>,
}

/// A scenario, and the file that it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The scenario.
    pub scenario: Arc<Scenario>,
    /// Its file: a path as the user gave it, or `catalog/<area>/<name>.yaml` within the program.
    pub file: String,
}

impl ScenarioCatalog {
    /// The scenarios that are part of the program.
    ///
    /// # Errors
    /// When one of them is wrong; the tests read all of them, so this is not met in a release.
    pub fn built_in() -> Result<Self, LoadErrors> {
        Self::built_in_with(Vocabulary::built_in())
    }

    /// The scenarios that are part of the program, with the names that they may use.
    ///
    /// # Errors
    /// As of [`Self::built_in`].
    pub fn built_in_with(vocabulary: &Vocabulary) -> Result<Self, LoadErrors> {
        let mut reading = Reading::default();
        for (path, bytes) in built_in_files() {
            reading.take(load::from_bytes(bytes, &path, vocabulary), Some(&id_of(Path::new(&path))));
        }
        reading.finish()
    }

    /// The scenarios in these files and folders. Of a folder every file below it whose name ends in `.yaml` or `.yml` is
    /// read; names that begin with a dot are passed over, and links are not followed.
    ///
    /// # Errors
    /// Everything that is wrong with any of them, and files or folders that cannot be read.
    pub fn load(paths: &[PathBuf], vocabulary: &Vocabulary) -> Result<Self, LoadErrors> {
        let mut reading = Reading::default();
        for path in paths {
            if !path.is_dir() {
                reading.take(load::from_file(path, vocabulary), None);
                continue;
            }
            match files_below(path) {
                Ok(files) if files.is_empty() => {
                    reading.errors.push(
                        Diagnostic::new(&path.display().to_string(), "the folder holds no scenarios")
                            .with_help("scenarios are files whose names end in `.yaml`"),
                    );
                }
                Ok(files) => {
                    for file in files {
                        reading.take(load::from_file(&file, vocabulary), Some(&id_of(&file)));
                    }
                }
                Err(error) => reading.errors.push(error),
            }
        }
        reading.finish()
    }

    /// The scenarios of both.
    ///
    /// # Errors
    /// When an id is in both of them.
    pub fn and(self, other: Self) -> Result<Self, LoadErrors> {
        let first: BTreeMap<&str, &str> =
            self.entries.iter().map(|entry| (entry.scenario.scenario.as_str(), entry.file.as_str())).collect();
        let twice = other.entries.iter().filter_map(|entry| {
            let file = first.get(entry.scenario.scenario.as_str())?;
            let message = format!("the id `{}` is taken", entry.scenario.scenario);
            Some(Diagnostic::new(&entry.file, message).with_help(format!("it is that of {file}; choose another")))
        });
        if let Some(errors) = LoadErrors::new(twice.collect()) {
            return Err(errors);
        }
        Ok(Self { entries: self.entries.into_iter().chain(other.entries).collect() })
    }

    /// Every scenario with its file, sorted by id where they were read together.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The scenario with this id, or with the id that replaced it.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Arc<Scenario>> {
        let current = current_id(id);
        let find = |id: &str| self.entries.iter().find(|entry| entry.scenario.scenario == id);
        find(id).or_else(|| find(&current)).map(|entry| &entry.scenario)
    }

    /// Checks that each of these paths, from which the catalog was loaded, has a scenario that a command runs.
    ///
    /// # Errors
    /// If a path has only scenarios of other commands.
    pub fn require(&self, runner: Runner, paths: &[PathBuf]) -> Result<(), SelectError> {
        for path in paths {
            let entries = self.entries.iter().filter(|entry| Path::new(&entry.file).starts_with(path));
            let runners: Vec<_> = entries.map(|entry| Runner::of(&entry.scenario)).collect();
            if let Some(first) = runners.first().filter(|_| !runners.contains(&runner)) {
                let command = format!("{} --scenarios {}", first.command(), path.display());
                return Err(SelectError::NoScenarioInPath { path: path.clone(), command });
            }
        }
        Ok(())
    }

    /// Every scenario, to be planned.
    pub fn scenarios(&self) -> impl Iterator<Item = Arc<Scenario>> + '_ {
        self.entries.iter().map(|entry| Arc::clone(&entry.scenario))
    }
}

/// The current id of a scenario or case; unchanged unless its scenario was renamed.
#[must_use]
pub fn current_id(id: &str) -> String {
    let (scenario, case) = id.split_at(id.find('@').unwrap_or(id.len()));
    if let Some((_, current)) = RENAMED.iter().find(|(old, _)| *old == scenario) {
        return format!("{current}{case}");
    }
    let renamed = scenario.split_once('/').and_then(|(area, name)| {
        let (_, current) = RENAMED_AREAS.iter().find(|(old, _)| *old == area)?;
        Some(format!("{current}/{name}{case}"))
    });
    renamed.unwrap_or_else(|| id.to_owned())
}

/// The files of the built-in catalog, `catalog/<area>/<name>.yaml`, with what they hold.
pub fn built_in_files() -> impl Iterator<Item = (String, &'static [u8])> {
    let in_areas = FILES.dirs().flat_map(Dir::files);
    let yaml = FILES.files().chain(in_areas).filter(|file| is_yaml(file.path()));
    yaml.map(|file| (format!("catalog/{}", file.path().display()), file.contents()))
}

/// What was read so far, of several files.
#[derive(Default)]
struct Reading {
    loaded: BTreeMap<String, Loaded>,
    errors: Vec<Diagnostic>,
}

impl Reading {
    /// Takes a file, which has to hold this id where its place says one.
    fn take(&mut self, loaded: Result<Loaded, LoadErrors>, expected: Option<&str>) {
        let loaded = match loaded {
            Ok(loaded) => loaded,
            Err(errors) => return self.errors.extend(errors.into_vec()),
        };
        let id = &loaded.scenario.scenario;
        if let Some(expected) = expected.filter(|expected| expected != id) {
            let message = format!("the id `{id}` is not the file's place");
            let advice = format!("write `{expected}`, or move the file to `{id}.yaml`");
            self.errors.push(Diagnostic::new(&loaded.file, message).at(loaded.id.clone()).with_help(advice));
        }
        if let Some(first) = self.loaded.get(id) {
            let message = format!("the id `{id}` is taken");
            let advice = format!("it is that of {}:{}:{}; choose another", first.file, first.id.line, first.id.column);
            self.errors.push(Diagnostic::new(&loaded.file, message).at(loaded.id.clone()).with_help(advice));
            return;
        }
        self.loaded.insert(id.clone(), loaded);
    }

    fn finish(self) -> Result<ScenarioCatalog, LoadErrors> {
        if let Some(errors) = LoadErrors::new(self.errors) {
            return Err(errors);
        }
        let entry = |loaded: Loaded| Entry { scenario: Arc::new(loaded.scenario), file: loaded.file };
        Ok(ScenarioCatalog { entries: self.loaded.into_values().map(entry).collect() })
    }
}

/// The id that a file's place in a catalog says: its folder and its name.
fn id_of(path: &Path) -> String {
    let text = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let area = text(path.parent().and_then(Path::file_name));
    format!("{area}/{}", text(path.file_stem()))
}

fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
}

/// The scenario files below a folder, sorted.
fn files_below(folder: &Path) -> Result<Vec<PathBuf>, Diagnostic> {
    let mut files = Vec::new();
    let mut open = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = open.pop() {
        let unreadable = |cause: std::io::Error| {
            Diagnostic::new(&folder.display().to_string(), format!("the folder cannot be read: {cause}"))
        };
        for entry in std::fs::read_dir(&folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let kind = entry.file_type().map_err(unreadable)?;
            let path = entry.path();
            if entry.file_name().to_string_lossy().starts_with('.') {
                continue;
            }
            if kind.is_dir() && depth < MAX_DEPTH {
                open.push((path, depth + 1));
            } else if kind.is_file() && is_yaml(&path) {
                files.push(path);
            }
            if files.len() > MAX_FILES {
                let message = format!("the folder holds more than {MAX_FILES} files");
                return Err(Diagnostic::new(&folder.display().to_string(), message).with_help("is it a catalog?"));
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests;
