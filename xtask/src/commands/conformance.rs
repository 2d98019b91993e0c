//! `conformance`: scenarios against a client.

use std::{
    num::NonZeroUsize,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use reports::{
    Run,
    journal::Line,
    model::{CaseResult, FORMAT, RunKind},
};
use scenarios::{
    Scenario,
    model::Subject,
    plan::Plan,
    run::{
        conformance::{RunError, conformance},
        fresh_seed, header,
        options::{ClientUnderTest, RunEvent, RunOptions},
    },
};

use super::selection::SelectionArgs;
use crate::{
    baseline::Baseline,
    failure::{CommandResult, Failure, held},
    interrupt,
    output::OutputArgs,
    progress::Progress,
    run_folder::RunFolder,
};

/// The arguments of `conformance`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    selection: SelectionArgs,
    /// A client of yours instead of the built-in one, started as `sh -c "<COMMAND> <server-url>"` with
    /// MCP_CONFORMANCE_SCENARIO, MCP_CONFORMANCE_PROTOCOL_VERSION and MCP_CONFORMANCE_CONTEXT set.
    #[arg(long, value_name = "COMMAND")]
    client_command: Option<String>,
    /// How many cases run at one time [default: 24 for each core, up to 96].
    #[arg(long, short)]
    jobs: Option<NonZeroUsize>,
    /// The seed of everything drawn at random; a report names the one it had.
    #[arg(long)]
    seed: Option<u64>,
    /// A file that lists the ids of cases known to fail; one that passes, or is gone, fails the run as stale.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs scenarios against a client.
pub(crate) fn run(args: Args) -> CommandResult {
    let seed = args.seed.unwrap_or_else(fresh_seed);
    let scenarios = args.selection.load()?;
    let judged = |scenario: &Arc<Scenario>| scenario.subject == Subject::Client && scenario.load.is_none();
    let scenarios: Vec<_> = scenarios.into_iter().filter(judged).collect();
    let plan = args.selection.plan(scenarios.clone(), Some(Subject::Client), seed)?;
    let baseline = args.baseline.as_deref().map(Baseline::read).transpose()?;
    let options = options(&args)?;
    let subject = match &options.client {
        ClientUnderTest::BuiltIn => "the built-in client".to_owned(),
        ClientUnderTest::External { command } => command.clone(),
    };
    let header = header(RunKind::Conformance, subject, seed, plan.cases.len());
    let mut folder = RunFolder::create(args.output.output.as_deref(), &header)?;
    let progress = Progress::new(plan.cases.len(), args.output.quiet);
    progress.line(&format!(
        "{} cases, {} at a time, seed {seed}; journal: {}",
        plan.cases.len(),
        options.jobs,
        folder.journal_path().display()
    ));
    let began = Instant::now();
    let (cases, complete) = execute(&plan, &options, &mut folder, &progress)?;
    progress.finish();
    let elapsed_ms = millis(began.elapsed());
    let known = scenarios::plan::Plan::new(scenarios, &Default::default(), seed).map_err(Failure::input)?;
    let baseline = baseline.map(|baseline| baseline.compare(&cases, &known));
    if complete {
        folder.append(&Line::End { elapsed_ms, baseline: baseline.clone() })?;
    }
    let run = Run { format: FORMAT, header, cases, loads: vec![], baseline, complete, elapsed_ms };
    args.output.show(&run, Some(&folder.path))?;
    Ok(held(run.held()))
}

fn options(args: &Args) -> Result<RunOptions, Failure> {
    Ok(RunOptions {
        program: std::env::current_exe().map_err(Failure::environment)?,
        client: match &args.client_command {
            None => ClientUnderTest::BuiltIn,
            Some(command) => ClientUnderTest::External { command: command.clone() },
        },
        jobs: args.jobs.unwrap_or_else(usual_jobs),
    })
}

/// Most cases wait most of the time, for limits that have to pass; so there are many more of them than cores.
fn usual_jobs() -> NonZeroUsize {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    NonZeroUsize::MIN.saturating_add((cores * 24).min(96) - 1)
}

/// Runs the plan; gives what ended and whether all of it did.
fn execute(
    plan: &Plan,
    options: &RunOptions,
    folder: &mut RunFolder,
    progress: &Progress,
) -> Result<(Vec<CaseResult>, bool), Failure> {
    let runtime = interrupt::runtime()?;
    let mut ended: Vec<CaseResult> = Vec::new();
    let tell = |event: RunEvent<'_>| match event {
        RunEvent::Began { id } => progress.began(id),
        RunEvent::Ended { result } => {
            progress.ended(result);
            ended.push(result.clone());
        }
    };
    let finished = runtime.block_on(async {
        tokio::select! {
            finished = conformance(plan, options, &mut folder.journal, tell) => Some(finished),
            () = interrupt::asked() => None,
        }
    });
    match finished {
        Some(Ok(cases)) => Ok((cases, true)),
        Some(Err(error @ RunError::Journal(_))) => Err(Failure::environment(error)),
        Some(Err(error @ RunError::Fault { .. })) => Err(Failure::fault(error)),
        None => Ok((ended, false)),
    }
}

/// Milliseconds of a time that is never longer than a run.
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
