//! `interop`: tests the mock servers and the built-in client against independent programs: the official conformance suite,
//! clients and servers on the official SDKs, and published servers.
//!
//! The tools are installed in the ignored directory `/interop` of the workspace. A failed installation is an environment
//! error (exit code 3), not a result.

mod adapters;
mod authorization;
mod axes;
mod check;
mod child;
mod expect;
mod locust;
mod outcome;
mod pins;
mod report;
mod sdk;
mod server;
mod servers;
mod suite;
mod tools;

use std::{fs, io::Write as _, time::Instant};

use anyhow::{Context as _, anyhow};

use self::{
    check::Check,
    outcome::Outcome,
    tools::{Requirements, Tools},
};
use crate::root;
use crate::{
    error::{CommandError, CommandResult, exit_code},
    interrupt,
};

/// The arguments of `interop`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Check to run, or the first parts of its name; repeatable [default: all].
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Print the names of the checks and exit.
    #[arg(long)]
    list: bool,
    /// Install the requirements of the checks and exit.
    #[arg(long, conflicts_with = "list")]
    install_only: bool,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the checks.
pub(crate) fn run(args: Args) -> CommandResult {
    let checks = selected(&args.only)?;
    if args.list {
        let names: String = checks.iter().map(|check| format!("{}\n", check.name())).collect();
        print(&names)?;
        return Ok(exit_code(true));
    }
    let runtime = interrupt::runtime()?;
    let tools = runtime.block_on(Tools::install(root(), requirements(&checks)))?;
    if args.install_only {
        return Ok(exit_code(true));
    }
    let outcomes = runtime.block_on(async {
        tokio::select! {
            outcomes = run_all(&tools, &checks) => outcomes,
            // Dropping the checks stops their processes.
            () = interrupt::requested() => Err(CommandError::environment(anyhow!("interrupted"))),
        }
    })?;
    print(&if args.json { report::json(&outcomes).map_err(CommandError::internal)? } else { report::text(&outcomes) })?;
    Ok(exit_code(outcomes.iter().all(Outcome::passed)))
}

fn selected(only: &[String]) -> Result<Vec<Check>, CommandError> {
    let all = Check::all();
    for name in only {
        if !all.iter().any(|check| check.matches(name)) {
            let known: Vec<_> = all.iter().map(Check::name).collect();
            return Err(CommandError::input(anyhow!("unknown check `{name}`; known are {}", known.join(", "))));
        }
    }
    let wanted = |check: &Check| only.is_empty() || only.iter().any(|name| check.matches(name));
    Ok(all.into_iter().filter(wanted).collect())
}

/// The tools that the checks need.
fn requirements(checks: &[Check]) -> Requirements {
    Requirements {
        node: checks.iter().any(|check| !check.needs_python()),
        python: checks.iter().any(Check::needs_python),
    }
}

async fn run_all(tools: &Tools, checks: &[Check]) -> Result<Vec<Outcome>, CommandError> {
    if tools.output.exists() {
        fs::remove_dir_all(&tools.output)
            .context("cannot empty the output directory")
            .map_err(CommandError::environment)?;
    }
    let mut outcomes = Vec::new();
    for check in checks {
        let directory = tools.output.join(check.name().replace('/', "-"));
        fs::create_dir_all(&directory)
            .context("cannot create the output directory")
            .map_err(CommandError::environment)?;
        let start = Instant::now();
        let (rows, error) = match check.run(tools, &directory).await {
            Ok(rows) => (rows, None),
            Err(error) => (Vec::new(), Some(format!("{error:#}"))),
        };
        let outcome = Outcome { check: check.name(), rows, error, duration: start.elapsed(), directory };
        log_progress(&report::line(&outcome));
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

/// Prints progress to standard error. Write errors are ignored.
fn log_progress(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn print(text: &str) -> Result<(), CommandError> {
    std::io::stdout().write_all(text.as_bytes()).map_err(CommandError::environment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selects_by_the_name_or_its_first_parts() {
        let names =
            |only: &str| -> Vec<String> { selected(&[only.to_owned()]).unwrap().iter().map(Check::name).collect() };
        assert_eq!(names("suite/2025-11-25"), ["suite/2025-11-25"]);
        assert_eq!(names("suite").len(), 2);
        assert_eq!(names("typescript-1/stdio"), ["typescript-1/stdio/2025-11-25"]);
        assert!(selected(&[]).unwrap().len() > 10);
    }

    #[test]
    fn rejects_a_name_without_checks() {
        assert!(selected(&["suite/2025".to_owned()]).is_err());
        assert!(selected(&["nothing".to_owned()]).is_err());
    }
}
