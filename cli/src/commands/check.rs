//! `check`: validates scenario files, scripts of mock servers and project files without running anything.

use std::{path::PathBuf, process::ExitCode};

use diagnostics::{Diagnostics, FileError};
use mock_servers::{
    oauth,
    profile::{self, ProfileError},
};
use scenarios::{
    catalog::ScenarioCatalog,
    load::{self, FileKind, Vocabulary},
};

use crate::{
    error::{CommandError, CommandResult},
    print,
    project::Project,
};

/// The arguments of `check`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Scenario files or directories of them, scripts of mock servers and mock authorization servers, and project files
    /// (`.toml`).
    #[arg(required = true)]
    paths: Vec<PathBuf>,
}

/// Checks the files.
pub(crate) fn run(args: &Args, command: &clap::Command) -> CommandResult {
    let (mut scenarios, mut scripts, mut projects, mut errors) = (Vec::new(), 0, 0, Vec::new());
    for path in &args.paths {
        if path.extension().is_some_and(|extension| extension == "toml") {
            match Project::check(path, command) {
                Ok(()) => projects += 1,
                Err(FileError::Invalid(invalid)) => errors.extend(invalid.into_vec()),
                Err(error) => return Err(CommandError::input(error)),
            }
            continue;
        }
        let kind = if path.is_file() { load::kind_of(path) } else { Ok(FileKind::Scenario) };
        let checked = match kind {
            Ok(FileKind::Scenario) => {
                scenarios.push(path.clone());
                continue;
            }
            Ok(FileKind::MockScript) => profile::load(&path.to_string_lossy()).map(drop),
            Ok(FileKind::AuthorizationScript) => oauth::script::load(path).map(drop).map_err(ProfileError::from),
            Err(invalid) => Err(invalid.into()),
        };
        match checked {
            Ok(()) => scripts += 1,
            Err(ProfileError::File(FileError::Invalid(invalid))) => errors.extend(invalid.into_vec()),
            Err(error) => return Err(CommandError::input(error)),
        }
    }
    let loaded = ScenarioCatalog::load(&scenarios, Vocabulary::built_in());
    let loaded = loaded.map(|catalog| catalog.entries().len()).unwrap_or_else(|invalid| {
        errors.extend(invalid.into_vec());
        0
    });
    if let Some(errors) = Diagnostics::new(errors) {
        return Err(CommandError::input(errors));
    }
    let checked = [(loaded, "scenario"), (scripts, "script"), (projects, "project file")];
    let checked: Vec<_> = checked.iter().filter(|(count, _)| *count > 0).collect();
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let names: Vec<_> = checked.iter().map(|(count, noun)| format!("{count} {noun}{}", plural(*count))).collect();
    let verb = if loaded + scripts + projects == 1 { "is" } else { "are" };
    print::line(&format!("{} {verb} valid", names.join(" and ")))?;
    Ok(ExitCode::SUCCESS)
}
