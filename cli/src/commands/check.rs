//! `check`: validates scenario files and the scripts of mock servers without running anything.

use std::{path::PathBuf, process::ExitCode};

use mock_servers::{oauth, profile};
use scenarios::{
    catalog::ScenarioCatalog,
    load::{self, FileKind, Vocabulary},
};

use crate::{
    error::{CommandError, CommandResult},
    print,
};

/// The arguments of `check`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Scenario files or directories of them, and scripts of mock servers and mock authorization servers
    #[arg(required = true)]
    paths: Vec<PathBuf>,
}

/// Checks the files.
pub(crate) fn run(args: &Args) -> CommandResult {
    let (mut scenarios, mut scripts) = (Vec::new(), 0);
    for path in &args.paths {
        let kind = if path.is_file() { load::kind_of(path).map_err(CommandError::input)? } else { FileKind::Scenario };
        match kind {
            FileKind::Scenario => {
                scenarios.push(path.clone());
                continue;
            }
            FileKind::MockScript => profile::load(&path.to_string_lossy()).map(drop).map_err(CommandError::input)?,
            FileKind::AuthorizationScript => oauth::script::load(path).map(drop).map_err(CommandError::input)?,
        }
        scripts += 1;
    }
    let loaded = ScenarioCatalog::load(&scenarios, Vocabulary::built_in()).map_err(CommandError::input)?;
    let checked = [(loaded.entries().len(), "scenarios"), (scripts, "scripts")];
    let checked = checked.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    let checked = checked.collect::<Vec<_>>().join(" and ");
    print::line(&format!("{checked} are valid"))?;
    Ok(ExitCode::SUCCESS)
}
