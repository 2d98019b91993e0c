//! `conformance`: runs scenarios against a client.

use std::{fs, num::NonZeroUsize, path::PathBuf};

use anyhow::Context as _;
use reports::model::Profile;
use scenarios::{
    plan::TimeFactor,
    run::{Baseline, ClientUnderTest, ConformancePlan, RunPlan, fresh_seed},
    select::Runner,
};

use super::selection::SelectionArgs;
use crate::{
    error::{CommandError, CommandResult},
    output::OutputArgs,
    run,
    watch::{self, WatchArgs, WatchedFiles},
};

/// The arguments of `conformance`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    selection: SelectionArgs,
    /// Client to test instead of the built-in one, started as `sh -c "<COMMAND> <server-url>"` with the variables
    /// MCP_CONFORMANCE_SCENARIO, MCP_CONFORMANCE_PROTOCOL_VERSION and MCP_CONFORMANCE_CONTEXT.
    #[arg(long, value_name = "COMMAND")]
    client_command: Option<String>,
    /// Requirements by which the client is judged: `sdk` for a library, `agent` for an application that uses servers for a
    /// model [default: sdk with --client-command, else agent].
    #[arg(long, value_name = "PROFILE", value_parser = profile)]
    profile: Option<Profile>,
    /// Number of cases to run in parallel [default: 24 per core, up to 96].
    #[arg(long, short)]
    jobs: Option<NonZeroUsize>,
    /// Factor of the time limits of a case, from 0.1 to 100: that until the first message, which an interpreter may need to
    /// start, and that after it.
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = time_factor)]
    time_factor: TimeFactor,
    /// Unix sockets instead of ports for servers with Streamable HTTP, whose URLs are `unix:///path/of/the/socket#/mcp`. Those
    /// that are protected by an authorization server use ports.
    #[arg(long)]
    unix_socket: bool,
    /// Random seed; recorded in the report.
    #[arg(long)]
    seed: Option<u64>,
    /// File with the ids of cases that are known to fail. A listed case that passes or no longer exists fails the run.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    #[command(flatten)]
    watch: WatchArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs scenarios against a client.
pub(crate) fn run(args: Args) -> CommandResult {
    if args.watch.watch {
        return watch::execute(|| plan(&args), watched(&args), &args.watch, &args.output);
    }
    run::execute(plan(&args)?, &args.output)
}

/// The files whose changes repeat the run.
fn watched(args: &Args) -> WatchedFiles {
    let mut files = WatchedFiles::default();
    // The shell reports a command that it cannot parse.
    let command = args.client_command.as_deref().and_then(|command| shell_words::split(command).ok());
    files.add_command(command.iter().flatten().map(String::as_str));
    args.selection.paths().iter().chain(&args.baseline).for_each(|path| files.add(path));
    files
}

fn plan(args: &Args) -> Result<RunPlan, CommandError> {
    let seed = args.seed.unwrap_or_else(fresh_seed);
    // A baseline names any of the scenarios.
    let mut scenarios =
        if args.baseline.is_some() { args.selection.load()? } else { args.selection.load_selected()? };
    let plan = args.selection.plan(scenarios.clone(), Some(Runner::Conformance), seed)?;
    scenarios.retain(|scenario| Runner::for_scenario(scenario) == Runner::Conformance);
    let baseline = match &args.baseline {
        Some(path) => {
            let text = fs::read_to_string(path).with_context(|| format!("cannot read the baseline {}", path.display()));
            Some(Baseline::parse(&text.map_err(CommandError::input)?, scenarios))
        }
        None => None,
    };
    let plan = ConformancePlan {
        program: std::env::current_exe().map_err(CommandError::environment)?,
        client: match args.client_command.clone() {
            None => ClientUnderTest::BuiltIn,
            Some(command) => ClientUnderTest::External { command, hidden_variables: vec![] },
        },
        profile: args.profile,
        plan,
        seed,
        jobs: args.jobs.unwrap_or_else(default_jobs),
        time_factor: args.time_factor,
        unix_sockets: args.unix_socket,
        baseline,
    };
    Ok(RunPlan::Conformance(plan))
}

fn time_factor(text: &str) -> Result<TimeFactor, String> {
    let factor = text.parse().ok().and_then(TimeFactor::new);
    factor.ok_or_else(|| "the factor is a number from 0.1 to 100".to_owned())
}

fn profile(name: &str) -> Result<Profile, String> {
    let known = Profile::ALL.into_iter().find(|profile| profile.as_str() == name);
    known.ok_or_else(|| "the profiles are `sdk` and `agent`".to_owned())
}

/// Most cases mostly wait for timeouts, so there are many more of them than cores.
fn default_jobs() -> NonZeroUsize {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    NonZeroUsize::MIN.saturating_add((cores * 24).min(96) - 1)
}
