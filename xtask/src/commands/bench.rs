//! `bench`: a load on a server, and what it says of its speed.

mod client;
mod handover;
mod measuring;
mod mock;

use std::{io::Write as _, num::NonZeroUsize, path::PathBuf, sync::Arc, time::Instant};

use anyhow::anyhow;
use mock_servers::Period;
use reports::{
    Run,
    journal::Line,
    model::{FORMAT, LoadResult, RunKind},
};
use scenarios::{
    Scenario,
    bench::{Progress, connect::LoadConnectError},
    catalogue::Catalogue,
    load::Vocabulary,
    model::{Closed, Load, Open, Shape, Transport},
    plan::{Case, Plan},
    run::{
        fresh_seed, header,
        load_case::{LoadCaseError, load_case, load_server},
    },
    select::Selection,
};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::{conformance::millis, target::TargetArgs};
use crate::{
    failure::{CommandResult, Failure, held},
    interrupt,
    output::OutputArgs,
    run_folder::RunFolder,
};

/// The arguments of `bench`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    kind: Option<Kind>,
    /// A scenario file with a `load`. Without a server of your own the load goes to the scenario's mock server.
    #[arg(value_name = "FILE", required_unless_present = "tool")]
    file: Option<PathBuf>,
    #[command(flatten)]
    load: LoadArgs,
    /// Only this transport; a URL is spoken to in this way alone.
    #[arg(long)]
    transport: Option<Transport>,
    /// How many connections [default: over HTTP one for each user up to 64, 8 in an open loop; else one].
    #[arg(long)]
    connections: Option<NonZeroUsize>,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// What else can be measured.
#[derive(Debug, clap::Subcommand)]
enum Kind {
    /// Measure the mock servers of this program against servers that do nothing.
    Mock(mock::Args),
    /// Measure the client of this program beside a bare rmcp, a bare hyper and the TypeScript SDK.
    Client(client::Args),
}

/// A load, written as arguments.
#[derive(Debug, clap::Args)]
#[group(conflicts_with = "file")]
struct LoadArgs {
    /// The tool to call.
    #[arg(long)]
    tool: Option<String>,
    /// Its arguments, as a JSON object.
    #[arg(long, value_name = "JSON", value_parser = object)]
    arguments: Option<Map<String, Value>>,
    /// A closed loop: so many users, each calling again when answered [default: 1].
    #[arg(long, conflicts_with = "rate")]
    users: Option<NonZeroUsize>,
    /// An open loop: so many calls a second, whatever becomes of them.
    #[arg(long)]
    rate: Option<f64>,
    /// The most calls in flight in an open loop; more of them wait, and their waiting counts.
    #[arg(long, requires = "rate")]
    max_in_flight: Option<usize>,
    /// For how long calls are counted [default: 10s].
    #[arg(long)]
    duration: Option<Period>,
    /// For how long calls are made before they count [default: 1s].
    #[arg(long)]
    warmup: Option<Period>,
    /// How long one call may take [default: 60s].
    #[arg(long)]
    timeout: Option<Period>,
    /// What must hold: `p99 < 50ms`, `error_rate <= 1%`, `achieved_rate >= 100/s`, `offered_ratio >= 95%`.
    #[arg(long, value_name = "CONDITION")]
    threshold: Vec<String>,
}

fn object(text: &str) -> Result<Map<String, Value>, String> {
    serde_json::from_str(text).map_err(|cause| format!("not a JSON object: {cause}"))
}

impl LoadArgs {
    fn load(&self, tool: &str) -> Load {
        let shape = match self.rate {
            Some(rate) => Shape::Open(Open { rate, max_in_flight: self.max_in_flight }),
            None => Shape::Closed(Closed { users: self.users.map_or(1, NonZeroUsize::get) }),
        };
        Load {
            tool: tool.to_owned(),
            arguments: self.arguments.clone(),
            shape,
            duration: self.duration.unwrap_or(Period::from_millis(10_000)),
            warmup: Some(self.warmup.unwrap_or(Period::from_millis(1_000))),
            timeout: self.timeout,
            thresholds: self.threshold.clone(),
        }
    }
}

/// One load, and what it is put on.
enum Task {
    /// The server that the user named.
    Theirs(Load),
    /// The mock server of a scenario.
    Mock(Box<Case>, Load),
}

/// Puts loads on servers.
pub(crate) fn run(args: Args) -> CommandResult {
    match &args.kind {
        Some(Kind::Mock(args)) => return mock::run(args),
        Some(Kind::Client(args)) => return client::run(args),
        None => {}
    }
    let seed = fresh_seed();
    let tasks = tasks(&args, seed)?;
    let subject = if args.target.is_given() { args.target.subject() } else { "mock servers".to_owned() };
    let header = header(RunKind::Bench, subject, seed, tasks.len());
    let mut folder = RunFolder::create(args.output.output.as_deref(), &header)?;
    let began = Instant::now();
    let (runtime, cancel) = (interrupt::runtime()?, CancellationToken::new());
    let mut loads = Vec::new();
    for task in &tasks {
        let load = runtime.block_on(async {
            let work = carry_out(&args, task, &cancel);
            tokio::pin!(work);
            tokio::select! {
                load = &mut work => return load,
                () = interrupt::asked() => cancel.cancel(),
            }
            work.await
        });
        let load = load?;
        folder.append(&Line::Load { result: Box::new(load.clone()) })?;
        loads.push(load);
        if cancel.is_cancelled() {
            break;
        }
    }
    let complete = !cancel.is_cancelled();
    let elapsed_ms = millis(began.elapsed());
    if complete {
        folder.append(&Line::End { elapsed_ms, baseline: None })?;
    }
    let run = Run { format: FORMAT, header, cases: vec![], loads, baseline: None, complete, elapsed_ms };
    args.output.show(&run, Some(&folder.path))?;
    Ok(held(run.held()))
}

fn tasks(args: &Args, seed: u64) -> Result<Vec<Task>, Failure> {
    if let Some(tool) = &args.load.tool {
        return Ok(vec![Task::Theirs(args.load.load(tool))]);
    }
    let Some(file) = &args.file else {
        return Err(Failure::input(anyhow!("name a scenario file, or a tool with --tool")));
    };
    let catalogue = Catalogue::load(std::slice::from_ref(file), Vocabulary::built_in()).map_err(Failure::input)?;
    let loaded: Vec<(Arc<Scenario>, Load)> =
        catalogue.scenarios().filter_map(|scenario| scenario.load.clone().map(|load| (scenario, load))).collect();
    if loaded.is_empty() {
        return Err(Failure::input(anyhow!("{} describes no `load`", file.display())));
    }
    if args.target.is_given() {
        return Ok(loaded.into_iter().map(|(_, load)| Task::Theirs(load)).collect());
    }
    let mut tasks = Vec::new();
    for (scenario, load) in loaded {
        let selection = Selection { transports: args.transport.into_iter().collect(), ..Selection::default() };
        let plan = Plan::new([scenario], &selection, seed).map_err(Failure::input)?;
        tasks.extend(plan.cases.into_iter().map(|case| Task::Mock(Box::new(case), load.clone())));
    }
    Ok(tasks)
}

async fn carry_out(args: &Args, task: &Task, cancel: &CancellationToken) -> Result<LoadResult, Failure> {
    let quiet = args.output.quiet;
    let progress = move |progress: Progress| {
        if !quiet {
            tell(progress);
        }
    };
    let loaded = match task {
        Task::Theirs(load) => {
            let config = args.target.config(args.transport)?;
            let connections = args.connections.map(NonZeroUsize::get);
            load_server(&config, load, connections, progress, cancel.clone()).await
        }
        Task::Mock(case, load) => {
            let program = std::env::current_exe().map_err(Failure::environment)?;
            load_case(case, load, &program, progress, cancel.clone()).await
        }
    };
    loaded.map_err(|error| match error {
        LoadCaseError::Plan(_)
        | LoadCaseError::NoServer(_)
        | LoadCaseError::Connect(LoadConnectError::UnknownTool { .. } | LoadConnectError::RejectedTool { .. }) => {
            Failure::input(error)
        }
        _ => Failure::environment(error),
    })
}

/// One line a second on standard error.
fn tell(progress: Progress) {
    let Progress { elapsed, sent, done, errors, in_flight } = progress;
    let seconds = elapsed.as_secs_f64();
    let line = format!("{seconds:6.1} s  sent {sent}  done {done}  errors {errors}  in flight {in_flight}");
    // A log that cannot be written is no reason to stop a load.
    let _ = writeln!(std::io::stderr(), "{line}");
}
