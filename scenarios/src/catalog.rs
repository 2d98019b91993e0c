//! The catalog: the built-in scenarios, and scenarios in files and directories of the user.
//!
//! The errors of all files are reported together, and ids are unique. In a directory, the id of a scenario is the path of
//! its file (`<area>/<name>.yaml`). A file that is given by its own path may have any id.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use include_dir::{Dir, include_dir};

use crate::{
    load::{self, Diagnostic, LoadErrors, Loaded, Vocabulary},
    model::Scenario,
    select::{Runner, SelectError},
};

/// Renamed scenarios with their current ids. Older journals and baselines contain the old ids.
const RENAMED: &[(&str, &str)] = &[("asks/nobody-there", "client-features/no-user")];
/// Renamed areas.
const RENAMED_AREAS: &[(&str, &str)] = &[("asks", "client-features")];

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/catalog");

/// The beginning of the paths of the built-in scenarios for servers.
const SERVER_FILES: &str = "catalog/server/";

/// Maximum number of files in a directory. A directory with more is unlikely to be a catalog.
const MAX_FILES: usize = 10_000;
/// Maximum depth of directories.
const MAX_DEPTH: usize = 8;

/// Scenarios with their files. Ids are unique.
#[derive(Debug, Clone, Default)]
pub struct ScenarioCatalog {
    entries: Vec<Entry>,
}

/// A scenario and its file.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The scenario.
    pub scenario: Arc<Scenario>,
    /// The path from the user, or `catalog/<area>/<name>.yaml` for built-in scenarios.
    pub file: String,
}

impl ScenarioCatalog {
    /// The built-in scenarios.
    ///
    /// # Errors
    /// If a scenario is invalid, which the tests exclude.
    pub fn built_in() -> Result<Self, LoadErrors> {
        Self::built_in_with(Vocabulary::built_in())
    }

    /// Like [`Self::built_in`], with the given requirements and checks.
    ///
    /// # Errors
    /// Like [`Self::built_in`].
    pub fn built_in_with(vocabulary: &Vocabulary) -> Result<Self, LoadErrors> {
        Self::built_in_files_with(built_in_files(), vocabulary)
    }

    /// The built-in scenarios for servers. The others, which are many times as many, are not read.
    ///
    /// # Errors
    /// Like [`Self::built_in`].
    pub fn built_in_for_servers() -> Result<Self, LoadErrors> {
        let files = built_in_files().filter(|(path, _)| path.starts_with(SERVER_FILES));
        Self::built_in_files_with(files, Vocabulary::built_in())
    }

    /// The built-in scenarios with these ids of scenarios or cases; `None` if one of them is not such an id.
    ///
    /// # Errors
    /// Like [`Self::built_in`].
    #[must_use]
    pub fn built_in_with_ids(ids: &[String]) -> Option<Result<Self, LoadErrors>> {
        let wanted: BTreeSet<&str> = ids.iter().map(|id| id.split('@').next().unwrap_or_default()).collect();
        let files: Vec<_> =
            built_in_files().filter(|(path, _)| wanted.contains(id_of(Path::new(path)).as_str())).collect();
        (files.len() == wanted.len()).then(|| Self::built_in_files_with(files.into_iter(), Vocabulary::built_in()))
    }

    fn built_in_files_with(
        files: impl Iterator<Item = (String, &'static [u8])>,
        vocabulary: &Vocabulary,
    ) -> Result<Self, LoadErrors> {
        let mut reading = Reading::default();
        for (path, bytes) in files {
            reading.add(load::from_bytes(bytes, &path, vocabulary), Some(&id_of(Path::new(&path))));
        }
        reading.finish()
    }

    /// The scenarios in these files and directories. In a directory and its subdirectories, all `.yaml` and `.yml` files are
    /// read. Names that start with a dot are skipped, and links are not followed.
    ///
    /// # Errors
    /// All errors of all files, and unreadable files or directories.
    pub fn load(paths: &[PathBuf], vocabulary: &Vocabulary) -> Result<Self, LoadErrors> {
        let mut reading = Reading::default();
        for path in paths {
            if !path.is_dir() {
                reading.add(load::from_file(path, vocabulary), None);
                continue;
            }
            match files_below(path) {
                Ok(files) if files.is_empty() => {
                    reading.errors.push(
                        Diagnostic::new(&path.display().to_string(), "the directory contains no scenarios")
                            .with_help("scenarios are files whose names end in `.yaml`"),
                    );
                }
                Ok(files) => {
                    for file in files {
                        reading.add(load::from_file(&file, vocabulary), Some(&id_of(&file)));
                    }
                }
                Err(error) => reading.errors.push(error),
            }
        }
        reading.finish()
    }

    /// The scenarios of both catalogs.
    ///
    /// # Errors
    /// If an id is in both.
    pub fn and(self, other: Self) -> Result<Self, LoadErrors> {
        let first: BTreeMap<&str, &str> =
            self.entries.iter().map(|entry| (entry.scenario.scenario.as_str(), entry.file.as_str())).collect();
        let twice = other.entries.iter().filter_map(|entry| {
            let file = first.get(entry.scenario.scenario.as_str())?;
            let message = format!("duplicate id `{}`", entry.scenario.scenario);
            Some(Diagnostic::new(&entry.file, message).with_help(format!("{file} has the same id; choose another")))
        });
        if let Some(errors) = LoadErrors::new(twice.collect()) {
            return Err(errors);
        }
        Ok(Self { entries: self.entries.into_iter().chain(other.entries).collect() })
    }

    /// All scenarios with their files, sorted by id within each source.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The scenario with this current or old id.
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
            let runners: Vec<_> = entries.map(|entry| Runner::for_scenario(&entry.scenario)).collect();
            if let Some(first) = runners.first().filter(|_| !runners.contains(&runner)) {
                let command = format!("{} --scenarios {}", first.command(), path.display());
                return Err(SelectError::NoScenarioInPath { path: path.clone(), command });
            }
        }
        Ok(())
    }

    /// All scenarios.
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

/// Paths (`catalog/<area>/<name>.yaml`) and contents of the built-in catalog.
pub fn built_in_files() -> impl Iterator<Item = (String, &'static [u8])> {
    let in_areas = FILES.dirs().flat_map(Dir::files);
    let yaml = FILES.files().chain(in_areas).filter(|file| is_yaml(file.path()));
    yaml.map(|file| (format!("catalog/{}", file.path().display()), file.contents()))
}

/// Collects scenarios and errors of several files.
#[derive(Default)]
struct Reading {
    loaded: BTreeMap<String, Loaded>,
    errors: Vec<Diagnostic>,
}

impl Reading {
    /// Adds a file. `expected` is the id that its path requires, if any.
    fn add(&mut self, loaded: Result<Loaded, LoadErrors>, expected: Option<&str>) {
        let loaded = match loaded {
            Ok(loaded) => loaded,
            Err(errors) => return self.errors.extend(errors.into_vec()),
        };
        let id = &loaded.scenario.scenario;
        if let Some(expected) = expected.filter(|expected| expected != id) {
            let message = format!("the id `{id}` does not match the path of the file");
            let advice = format!("write `{expected}`, or move the file to `{id}.yaml`");
            self.errors.push(Diagnostic::new(&loaded.file, message).at(loaded.id.clone()).with_help(advice));
        }
        if let Some(first) = self.loaded.get(id) {
            let message = format!("duplicate id `{id}`");
            let advice =
                format!("{}:{}:{} has the same id; choose another", first.file, first.id.line, first.id.column);
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

/// The id that the path of a file requires: its directory and its name.
fn id_of(path: &Path) -> String {
    let text = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let directory = path.parent().unwrap_or(Path::new(""));
    // A directory such as `.` or `..` has no name of its own.
    let resolved = if directory.file_name().is_none() { directory.canonicalize().ok() } else { None };
    let area = text(resolved.as_deref().unwrap_or(directory).file_name());
    format!("{area}/{}", text(path.file_stem()))
}

fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
}

/// The scenario files in a directory and its subdirectories, sorted.
fn files_below(directory: &Path) -> Result<Vec<PathBuf>, Diagnostic> {
    let mut files = Vec::new();
    let mut open = vec![(directory.to_owned(), 0)];
    while let Some((directory, depth)) = open.pop() {
        let unreadable = |cause: std::io::Error| {
            Diagnostic::new(&directory.display().to_string(), format!("the directory cannot be read: {cause}"))
        };
        for entry in std::fs::read_dir(&directory).map_err(unreadable)? {
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
                let message = format!("the directory contains more than {MAX_FILES} files");
                return Err(Diagnostic::new(&directory.display().to_string(), message).with_help("is it a catalog?"));
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests;
