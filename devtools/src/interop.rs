//! `interop`: the mock servers and the built-in client against programs that nobody here wrote: the official conformance
//! suite, clients and servers built on the official SDKs, and published servers.
//!
//! It fills the ignored folder `/interop` of the workspace by itself. What it cannot get there is the environment's fault
//! and no verdict: exit code 3.

mod authorization;
mod check;
mod child;
mod expect;
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

use self::{check::Check, outcome::Outcome, tools::Tools};
use crate::root;
use crate::{
    error::{CommandError, CommandResult, exit_code},
    interrupt,
};

/// The arguments of `interop`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only this check, or those whose names begin like this, as `--list` has them. May be given several times.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// List the checks and end.
    #[arg(long)]
    list: bool,
    /// Install what the checks need and end.
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
    let tools = runtime.block_on(Tools::ready(root(), &checks))?;
    if args.install_only {
        return Ok(exit_code(true));
    }
    let outcomes = runtime.block_on(async {
        tokio::select! {
            outcomes = run_all(&tools, &checks) => outcomes,
            // What was started ends with what is dropped here.
            () = interrupt::requested() => Err(CommandError::environment(anyhow!("interrupted"))),
        }
    })?;
    print(&if args.json { report::json(&outcomes).map_err(CommandError::internal)? } else { report::text(&outcomes) })?;
    Ok(exit_code(outcomes.iter().all(Outcome::passed)))
}

fn selected(only: &[String]) -> Result<Vec<Check>, CommandError> {
    let all = Check::all();
    for name in only {
        if !all.iter().any(|check| check.is_called(name)) {
            let known: Vec<_> = all.iter().map(Check::name).collect();
            return Err(CommandError::input(anyhow!("there is no check `{name}`; there are {}", known.join(", "))));
        }
    }
    let wanted = |check: &Check| only.is_empty() || only.iter().any(|name| check.is_called(name));
    Ok(all.into_iter().filter(wanted).collect())
}

async fn run_all(tools: &Tools, checks: &[Check]) -> Result<Vec<Outcome>, CommandError> {
    if tools.output.exists() {
        fs::remove_dir_all(&tools.output)
            .context("cannot empty the folder of outputs")
            .map_err(CommandError::environment)?;
    }
    let mut outcomes = Vec::new();
    for check in checks {
        let folder = tools.output.join(check.name().replace('/', "-"));
        fs::create_dir_all(&folder).context("cannot make a folder for outputs").map_err(CommandError::environment)?;
        let began = Instant::now();
        let (rows, trouble) = match check.run(tools, &folder).await {
            Ok(rows) => (rows, None),
            Err(trouble) => (Vec::new(), Some(format!("{trouble:#}"))),
        };
        let outcome = Outcome { check: check.name(), rows, trouble, took: began.elapsed(), folder };
        say(&report::line(&outcome));
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

/// Progress, on standard error. A log that cannot be written is no reason to stop.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn print(text: &str) -> Result<(), CommandError> {
    std::io::stdout().write_all(text.as_bytes()).map_err(CommandError::environment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selects_by_the_whole_name_or_by_its_first_parts() {
        let names =
            |only: &str| -> Vec<String> { selected(&[only.to_owned()]).unwrap().iter().map(Check::name).collect() };
        assert_eq!(names("suite/2025-11-25"), ["suite/2025-11-25"]);
        assert_eq!(names("suite").len(), 2);
        assert_eq!(names("typescript-1/stdio"), ["typescript-1/stdio/2025-11-25"]);
        assert!(selected(&[]).unwrap().len() > 10);
    }

    #[test]
    fn refuses_a_name_that_selects_nothing() {
        assert!(selected(&["suite/2025".to_owned()]).is_err());
        assert!(selected(&["nothing".to_owned()]).is_err());
    }
}
