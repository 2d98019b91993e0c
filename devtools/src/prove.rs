//! `prove`: validates servers with one known defect each, and correct servers.
//!
//! `devtools/mutants` lists the servers. A defect that no named check detects, a check that detects no defect, and a
//! check that fails on a correct server each fail the command.

mod mutant;
mod report;
mod validation;

use std::{fmt, num::NonZeroUsize, thread, time::Instant};

use anyhow::anyhow;
use futures::{StreamExt as _, stream};
use serde::{Deserialize, Serialize};

use self::{
    mutant::{Endpoint, Server, Servers},
    report::{Report, Row},
    validation::Scenarios,
};
use crate::error::{CommandError, CommandResult, exit_code};

/// The arguments of `prove`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Servers to validate, by id, area or prefix (`tools/no-name`, `tools`, `tools/name-*`) [default: all].
    #[arg(value_name = "SERVER")]
    servers: Vec<String>,
    /// Number of servers to validate in parallel [default: four per core].
    #[arg(long, short)]
    jobs: Option<NonZeroUsize>,
    /// Validate mutants with all checks and scenarios, and report defects that many checks detect.
    #[arg(long)]
    all_checks: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Level of the requirement that a defect violates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    /// A check must fail.
    Must,
    /// A check must fail or warn.
    Should,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Must => "MUST",
            Self::Should => "SHOULD",
        })
    }
}

/// Validates the servers and prints the result.
pub(crate) fn run(args: &Args) -> CommandResult {
    let mut servers = mutant::read().map_err(CommandError::input)?;
    for pattern in &args.servers {
        if !servers.servers.iter().any(|server| server.matches(pattern)) {
            return Err(CommandError::input(anyhow!("no server matches `{pattern}`")));
        }
    }
    let all = args.servers.is_empty();
    servers.servers.retain(|server| all || args.servers.iter().any(|pattern| server.matches(pattern)));
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let jobs = args.jobs.map_or(4 * cores, NonZeroUsize::get);
    let scenarios = Scenarios::new(args.all_checks).map_err(CommandError::internal)?;
    let runtime = tokio::runtime::Runtime::new().map_err(CommandError::environment)?;
    let rows = runtime.block_on(validate_all(&servers, &scenarios, jobs));
    let report = Report::new(rows, if all { Some(&servers.unproved) } else { None });
    report.print(args.json).map_err(CommandError::environment)?;
    Ok(exit_code(report.passed()))
}

/// Validates every server on each of its endpoints, some of them in parallel. The rows have the order of the servers.
async fn validate_all(servers: &Servers, scenarios: &Scenarios, jobs: usize) -> Vec<Row> {
    let endpoints = |server| move |endpoint| (server, endpoint);
    let work = servers.servers.iter().flat_map(|server: &Server| server.endpoints.iter().map(endpoints(server)));
    let validations =
        work.enumerate().map(|(position, (server, endpoint)): (usize, (&Server, &Endpoint))| async move {
            let began = Instant::now();
            let found = validation::validate(server, endpoint, scenarios).await;
            (position, Row::new(server, endpoint, found, began.elapsed()))
        });
    // A server that does not respond must not delay those after it.
    let mut rows: Vec<(usize, Row)> = stream::iter(validations).buffer_unordered(jobs).collect().await;
    rows.sort_by_key(|(position, _)| *position);
    rows.into_iter().map(|(_, row)| row).collect()
}
