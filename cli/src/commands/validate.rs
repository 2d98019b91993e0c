//! `validate`: runs scenarios against a server.

use std::{num::NonZeroUsize, path::PathBuf, sync::Arc};

use mock_servers::HumanDuration;
use scenarios::{
    Scenario,
    catalog::ScenarioCatalog,
    load::Vocabulary,
    run::{RunPlan, ValidatePlan},
    select::Runner,
};

use super::target::TargetArgs;
use crate::{
    failure::{CommandResult, Failure},
    output::OutputArgs,
    run,
};

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
    let plan = ValidatePlan {
        target: args.target.server()?,
        subject: args.target.subject(),
        scenarios: catalog(&args.scenarios)?,
        startup: args.startup_timeout.0,
        jobs: args.jobs.unwrap_or_else(|| std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)),
    };
    run::execute(RunPlan::Validate(plan), &args.output)
}

/// The built-in scenarios for servers, and those of the user.
fn catalog(paths: &[PathBuf]) -> Result<Vec<Arc<Scenario>>, Failure> {
    let mut catalog = ScenarioCatalog::built_in().map_err(Failure::input)?;
    if !paths.is_empty() {
        let theirs = ScenarioCatalog::load(paths, Vocabulary::built_in()).map_err(Failure::input)?;
        theirs.require(Runner::Validate, paths).map_err(Failure::input)?;
        catalog = catalog.and(theirs).map_err(Failure::input)?;
    }
    Ok(catalog.scenarios().filter(|scenario| Runner::of(scenario) == Runner::Validate).collect())
}
