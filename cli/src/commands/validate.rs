//! `validate`: runs scenarios against a server.

use std::{num::NonZeroUsize, path::PathBuf};

use mock_servers::HumanDuration;
use scenarios::{
    run::{RunPlan, ValidatePlan},
    select::Runner,
};

use super::{selection::catalog_with, target::TargetArgs};
use crate::{error::CommandResult, output::OutputArgs, run};

/// The arguments of `validate`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,
    /// Timeout of the server's first response.
    #[arg(long, default_value = "30s")]
    startup_timeout: HumanDuration,
    /// Number of cases to run in parallel [default: number of cores].
    #[arg(long, short)]
    jobs: Option<NonZeroUsize>,
    /// Additional scenario files or directories.
    #[arg(long, value_name = "PATH")]
    scenarios: Vec<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Validates a server.
pub(crate) fn run(args: Args) -> CommandResult {
    let runner = Runner::Validate;
    let catalog = catalog_with(&args.scenarios, Some(runner))?;
    let plan = ValidatePlan {
        target: args.target.server()?,
        subject: args.target.subject(),
        scenarios: catalog.scenarios().filter(|scenario| Runner::for_scenario(scenario) == runner).collect(),
        startup: args.startup_timeout.0,
        jobs: args.jobs.unwrap_or_else(|| std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)),
    };
    run::execute(RunPlan::Validate(plan), &args.output)
}
