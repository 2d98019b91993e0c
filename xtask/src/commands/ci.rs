//! `ci`: everything that has to pass before a change is taken, in the order in which it is cheapest to fail.

use std::{io::Write as _, path::Path, process::ExitCode, time::Instant};

use super::tidy::root;
use crate::failure::{CommandResult, Failure, VERDICT};

/// The arguments of `ci`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Go on after a step that failed.
    #[arg(long)]
    keep_going: bool,
}

/// The steps: what each is called, and the arguments of cargo.
const STEPS: [(&str, &[&str]); 6] = [
    ("format", &["fmt", "--all", "--check"]),
    ("lints", &["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"]),
    ("conventions", &["xtask", "tidy"]),
    // Without `--all-targets`: unit, integration and documentation tests, and the examples as the programs that tests start.
    ("tests", &["test", "--workspace"]),
    ("conformance", &["xtask", "conformance"]),
    ("features", &["xtask", "features"]),
];

/// Runs every step.
pub(crate) fn run(args: &Args) -> CommandResult {
    let root = root()?;
    let mut failed = Vec::new();
    for (name, arguments) in STEPS {
        say(&format!("== {name}: cargo {}", arguments.join(" ")))?;
        let began = Instant::now();
        if !passes(&root, arguments)? {
            failed.push(name);
            if !args.keep_going {
                break;
            }
        }
        say(&format!("== {name}: {:.1} s", began.elapsed().as_secs_f64()))?;
    }
    if failed.is_empty() {
        say("== all steps passed")?;
        return Ok(ExitCode::SUCCESS);
    }
    say(&format!("== failed: {}", failed.join(", ")))?;
    Ok(ExitCode::from(VERDICT))
}

fn passes(root: &Path, arguments: &[&str]) -> Result<bool, Failure> {
    let status = crate::cargo::cargo().args(arguments).current_dir(root).status();
    Ok(status.map_err(Failure::environment)?.success())
}

fn say(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).map_err(Failure::environment)
}
