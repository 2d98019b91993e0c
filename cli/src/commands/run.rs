//! `run`: runs the targets of the project file.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::anyhow;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use diagnostics::nearest;

use crate::{
    error::{CommandError, CommandResult},
    interrupt,
    output::OutputArgs,
    print,
    project::{Project, Target},
};

/// The arguments of `run`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only these targets: by name (`weather`), by command (`validate`) or by both (`validate.weather`).
    #[arg(value_name = "TARGET", add = completed_names())]
    names: Vec<String>,
    /// Project file [default: `mcp-workbench.toml` in the working directory or above it].
    #[arg(long, value_name = "FILE")]
    project: Option<PathBuf>,
    /// List the targets with their command lines, and do not run them.
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// The targets of the project file. Files with errors have none.
fn completed_names() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let targets = Project::find().and_then(|path| Project::names(&path)).unwrap_or_default();
        targets.into_iter().map(CompletionCandidate::new).collect::<Vec<_>>()
    })
}

/// Result of a target.
enum Outcome {
    Passed,
    Failed,
    /// The target could not run. The error is printed already.
    Error(u8),
    /// The user interrupted an earlier target.
    NotRun,
}

/// Executes a command line of this program.
pub(crate) type Execute = fn(Vec<OsString>) -> CommandResult;

/// Runs the targets one after the other in the directory of the project file. Each one runs, even if one before it failed.
pub(crate) fn run(args: &Args, command: &clap::Command, execute: Execute) -> CommandResult {
    let path = args.project.clone().map_or_else(Project::find, Ok)?;
    let project = Project::load(&path, command)?;
    let targets = select(&project, &args.names)?;
    if args.list {
        let lines = targets.iter().map(|target| format!("{}  {}\n", target.id, target.command_line()));
        print::text(lines.collect::<String>().trim_end())?;
        return Ok(ExitCode::SUCCESS);
    }
    // Paths of the user are those of the working directory, paths of the file those of its directory.
    let output =
        args.output.output.as_deref().map(std::path::absolute).transpose().map_err(CommandError::environment)?;
    env::set_current_dir(&project.directory).map_err(CommandError::environment)?;
    let mut outcomes = Vec::new();
    for target in targets {
        let outcome = if interrupt::was_requested() {
            Outcome::NotRun
        } else {
            print::note(&format!("{}: {}", target.id, target.command_line()));
            execute_target(target, execute, &options(&args.output, output.as_deref(), &target.id))
        };
        outcomes.push((target, outcome));
    }
    Ok(summarize(&outcomes))
}

/// The named targets; all without names.
fn select<'p>(project: &'p Project, names: &[String]) -> Result<Vec<&'p Target>, CommandError> {
    for name in names {
        if !project.targets.iter().any(|target| target.is_named(name)) {
            let help = nearest::advice(name, project.targets.iter().map(|target| target.id.as_str()));
            return Err(CommandError::input(anyhow!("no target `{name}`")).with_help(help));
        }
    }
    let is_selected = |target: &&Target| names.is_empty() || names.iter().any(|name| target.is_named(name));
    Ok(project.targets.iter().filter(is_selected).collect())
}

/// The options of the command of a target: those of the output, with a directory of its own.
fn options(output: &OutputArgs, directory: Option<&Path>, id: &str) -> Vec<String> {
    let mut options: Vec<String> = output.format.iter().map(|format| format!("--format={}", format.name())).collect();
    options.extend(directory.map(|directory| format!("--output={}", directory.join(id).display())));
    options.extend(output.verbose.then(|| "--verbose".to_owned()));
    options.extend(output.quiet.then(|| "--quiet".to_owned()));
    options
}

fn execute_target(target: &Target, execute: Execute, options: &[String]) -> Outcome {
    let result = target.arguments(options).and_then(|arguments| {
        let line = std::iter::once("mcp-workbench".to_owned()).chain(arguments);
        execute(line.map(Into::into).collect())
    });
    match result {
        Ok(ExitCode::SUCCESS) => Outcome::Passed,
        Ok(_) => Outcome::Failed,
        Err(error) => {
            error.report();
            Outcome::Error(error.code())
        }
    }
}

/// Prints a line for each target. The exit code is that of the worst one.
fn summarize(outcomes: &[(&Target, Outcome)]) -> ExitCode {
    let width = outcomes.iter().map(|(target, _)| target.id.len()).max().unwrap_or_default();
    let mut worst = 0;
    for (target, outcome) in outcomes {
        let (code, word) = match outcome {
            Outcome::Passed => (0, "PASSED"),
            Outcome::Failed => (crate::error::FAILED, "FAILED"),
            Outcome::Error(code) => (*code, "ERROR"),
            Outcome::NotRun => (crate::error::FAILED, "NOT RUN"),
        };
        worst = worst.max(code);
        print::note(&format!("{:width$}  {word}", target.id));
    }
    ExitCode::from(worst)
}
