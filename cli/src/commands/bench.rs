//! `bench`: load-tests a server. Its subcommands compare servers, search a rate, and distribute a load over machines.

mod compare;
mod live;
mod locustfile;
mod merge_histograms;
mod search;
mod soak;
mod worker;

use std::{
    fs,
    num::{NonZeroU64, NonZeroUsize},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, anyhow};
use mock_servers::HumanDuration;
use reports::saved;
use scenarios::{
    Scenario,
    bench::{LoadPlan, PlanError, baseline::LoadBaseline},
    catalog::ScenarioCatalog,
    load::Vocabulary,
    model::{
        Arrivals, Closed, Driver, FormAction, Load, LoadExpect, LoadOperation, MixEntry, Open, Shape, Stage, UserSetup,
    },
    plan::Plan,
    run::{BenchPlan, LoadTask, RunPlan, fresh_seed},
    select::Selection,
};
use serde_json::{Map, Value};

use super::target::TargetArgs;
use crate::{
    error::{CommandError, CommandResult},
    output::OutputArgs,
    run,
    transport::TransportArg,
};

/// The arguments of `bench`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<BenchCommand>,
    #[command(flatten)]
    run: RunArgs,
}

/// The arguments of a load test.
#[derive(Debug, clap::Args)]
struct RunArgs {
    /// Scenario file with a `load`; without a server its mock server is tested.
    #[arg(value_name = "FILE", conflicts_with = "LoadArgs")]
    file: Option<PathBuf>,
    #[command(flatten)]
    load: LoadArgs,
    /// Transport of the URL, or of the mock server [default: Streamable HTTP, or HTTP+SSE if the server supports nothing
    /// else; all transports of the mock server].
    #[arg(long, value_name = "TRANSPORT", value_enum)]
    transport: Option<TransportArg>,
    /// Number of connections [default: over HTTP one per user up to 64, 8 in an open loop; over HTTP/2 one per
    /// thread; otherwise 1].
    #[arg(long)]
    connections: Option<NonZeroUsize>,
    /// Process whose memory, CPU time, descriptors and threads are sampled, with its descendants [default: that of the
    /// command].
    #[arg(long, requires = "url")]
    pid: Option<i32>,
    /// Abort and fail a run on a server as soon as an `error_rate` threshold cannot pass any more (open loop), or all calls
    /// failed for 5 s.
    #[arg(long)]
    abort_on_fail: bool,
    /// JSON report of an earlier run with the same load. The run fails if a metric is worse than in it by more than
    /// --tolerance.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Relative distance from the baseline up to which a worse metric passes [default: 10%].
    #[arg(long, value_name = "PERCENT", value_parser = percent, requires = "baseline")]
    tolerance: Option<f64>,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// The commands of `bench`. A file with the name of one is written `./compare`.
#[derive(Debug, clap::Subcommand)]
enum BenchCommand {
    Compare(Box<compare::Args>),
    Search(Box<search::Args>),
    Soak(Box<soak::Args>),
    /// Make calls for a Locust master, which distributes users over several machines.
    Worker(Box<worker::Args>),
    /// Write the file that a Locust master of workers runs.
    Locustfile(locustfile::Args),
    /// Print the percentiles of all workers, from the histograms that the master collected.
    MergeHistograms(merge_histograms::Args),
}

/// A load given as arguments.
#[derive(Debug, Clone, clap::Args)]
struct LoadArgs {
    /// Tool to call.
    #[arg(long)]
    tool: Option<String>,
    /// Arguments of the tool, as a JSON object. They can contain `{{iteration}}`, `{{user}}` and `{{COLUMN}}` of --data.
    #[arg(long, value_name = "JSON", value_parser = object, conflicts_with_all = ["mix", "step"])]
    arguments: Option<Map<String, Value>>,
    /// Operation of a mix, as `8:echo` or `2:tools/list`: its weight, and a tool or a method with `=JSON` for arguments or
    /// parameters. Each iteration is one of the operations, chosen at random. Lists include all pages.
    #[arg(long, value_name = "WEIGHT:OPERATION", conflicts_with_all = ["tool", "step"])]
    mix: Vec<MixEntry>,
    /// Operation of a sequence, as `echo={"message": "hi"}`. Each iteration executes all of them, one after the other.
    #[arg(long, value_name = "OPERATION", conflicts_with = "tool")]
    step: Vec<LoadOperation>,
    /// File with a row of values for each iteration, from the first one again after the last: CSV with a header, or JSON Lines
    /// (`.jsonl`).
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// Closed loop: number of concurrent users [default: 1].
    #[arg(long, conflicts_with = "rate")]
    users: Option<NonZeroUsize>,
    /// Open loop: calls per second.
    #[arg(long)]
    rate: Option<f64>,
    /// Open loop: durations and rates one after the other, as `10s:100,20s:100-500`; the second one is a ramp.
    #[arg(long, value_name = "STAGES", value_delimiter = ',', conflicts_with_all = ["rate", "users"])]
    stages: Vec<Stage>,
    /// Open loop: intervals between calls [default: uniform].
    #[arg(long, value_enum, conflicts_with = "users")]
    arrivals: Option<ArrivalsArg>,
    /// Closed loop: pause of a user between a response and the next call [default: none].
    #[arg(long, value_name = "DURATION", conflicts_with_all = ["rate", "stages"])]
    think_time: Option<HumanDuration>,
    /// Maximum number of open calls in an open loop. Other calls wait, and the wait is part of their latency.
    #[arg(long, conflicts_with = "users")]
    max_in_flight: Option<usize>,
    /// Closed loop: number of measured calls, or iterations, after which the load ends.
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["rate", "stages"])]
    calls: Option<NonZeroU64>,
    /// Duration of the measurement [default: 10s, or that of all stages; at most 10m with --calls].
    #[arg(long)]
    duration: Option<HumanDuration>,
    /// Duration of the warm-up, which is not measured [default: 1s].
    #[arg(long)]
    warmup: Option<HumanDuration>,
    /// Timeout of a call [default: 60s].
    #[arg(long)]
    timeout: Option<HumanDuration>,
    /// Pass/fail threshold, for example `p99 < 50ms`, `error_rate <= 1%`, `achieved_rate >= 100/s` or `offered_ratio >= 95%`.
    #[arg(long, value_name = "CONDITION")]
    threshold: Vec<String>,
    /// Minimum share of the rate that must return a result; 0 accepts any [default: 95%].
    #[arg(long, value_name = "PERCENT", conflicts_with = "users")]
    min_rate: Option<String>,
    /// Driver of the calls: `raw` encoded requests at the lowest cost, or the complete `client` [default: raw where it
    /// supports the server and the tool].
    #[arg(long, value_enum)]
    driver: Option<DriverArg>,
    /// HTTP/2 instead of HTTP/1.1, with the raw driver and a URL: many calls share a connection. Over TLS it is negotiated
    /// (ALPN), otherwise the server must accept it with prior knowledge.
    #[arg(long)]
    http2: bool,
    /// Ask for notifications about the progress of each request (raw driver). The report has the time until the first one, and
    /// the longest time without one.
    #[arg(long)]
    request_progress: bool,
    /// Values, as a JSON object, with which the user accepts each form of the server; other fields keep their defaults. Without
    /// it, the client declares no forms.
    #[arg(long, value_name = "JSON", value_parser = object)]
    form: Option<Map<String, Value>>,
    /// Text that the result of each call of a tool contains; a call with another result fails.
    #[arg(long, value_name = "TEXT")]
    expect_text: Option<String>,
}

/// Maximum duration of a number of calls, if none is given.
const LIMIT_OF_CALLS: Duration = Duration::from_secs(600);

/// Intervals between calls.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum ArrivalsArg {
    /// Equal intervals.
    Uniform,
    /// Random intervals, as those of many independent users.
    Poisson,
}

impl From<ArrivalsArg> for Arrivals {
    fn from(arrivals: ArrivalsArg) -> Self {
        match arrivals {
            ArrivalsArg::Uniform => Self::Uniform,
            ArrivalsArg::Poisson => Self::Poisson,
        }
    }
}

/// A driver.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum DriverArg {
    /// Send encoded requests over stdio or Streamable HTTP.
    Raw,
    /// Use the complete client.
    Client,
}

impl From<DriverArg> for Driver {
    fn from(driver: DriverArg) -> Self {
        match driver {
            DriverArg::Raw => Self::Raw,
            DriverArg::Client => Self::Client,
        }
    }
}

fn object(text: &str) -> Result<Map<String, Value>, String> {
    serde_json::from_str(text).map_err(|cause| format!("not a JSON object: {cause}"))
}

/// Parses a percentage, as `5%`, to a share.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').and_then(|number| number.trim_end().parse::<f64>().ok());
    let share = number.filter(|percent| (0.0..=1_000.0).contains(percent)).map(|percent| percent / 100.0);
    share.ok_or_else(|| "a percentage is written `5%`".to_owned())
}

impl LoadArgs {
    /// Whether there is something to call.
    fn is_given(&self) -> bool {
        self.tool.is_some() || !self.mix.is_empty() || !self.step.is_empty()
    }

    /// The load. Its data is valid.
    fn load(&self) -> Result<Load, CommandError> {
        if !self.is_given() {
            return Err(CommandError::input(anyhow!("no tool"))
                .with_help("add the tool to call, for example `--tool echo`, or a mix of operations (`--mix`)"));
        }
        checked(self.unchecked())
    }

    fn unchecked(&self) -> Load {
        let shape = if self.rate.is_some() || !self.stages.is_empty() {
            Shape::Open(Open {
                rate: self.rate,
                stages: self.stages.clone(),
                arrivals: self.arrivals.map(Arrivals::from).unwrap_or_default(),
                max_in_flight: self.max_in_flight,
            })
        } else {
            let users = self.users.map_or(1, NonZeroUsize::get);
            Shape::Closed(Closed { users, think_time: self.think_time, calls: self.calls })
        };
        let staged = self.stages.iter().map(|stage| stage.duration.0).sum::<Duration>();
        let usual = match self.calls {
            Some(_) => HumanDuration(LIMIT_OF_CALLS),
            None if staged.is_zero() => HumanDuration::from_millis(10_000),
            None => HumanDuration(staged),
        };
        let duration = self.duration.unwrap_or(usual);
        let load = Load {
            tool: self.tool.clone(),
            arguments: self.arguments.clone(),
            mix: self.mix.clone(),
            steps: self.step.clone(),
            data: self.data.clone(),
            warmup: Some(self.warmup.unwrap_or(HumanDuration::from_millis(1_000))),
            timeout: self.timeout,
            thresholds: self.threshold.clone(),
            min_rate: self.min_rate.clone(),
            driver: self.driver.map(Driver::from),
            http2: self.http2,
            request_progress: self.request_progress,
            user: self
                .form
                .clone()
                .map(|values| UserSetup { form: Some(FormAction::Accept(values)), ..UserSetup::default() }),
            ..Load::new("", shape, duration)
        };
        expecting(load, self.expect_text.as_deref())
    }
}

/// The load with this text in the result of each call of a tool.
fn expecting(mut load: Load, text: Option<&str>) -> Load {
    let expect = LoadExpect { text: text.map(str::to_owned), ..LoadExpect::default() };
    let operations = load.mix.iter_mut().map(|entry| &mut entry.operation).chain(&mut load.steps);
    for operation in operations {
        if let LoadOperation::Call(call) = operation {
            call.expect = expect.clone();
        }
    }
    if load.tool.is_some() {
        load.expect = expect;
    }
    load
}

/// Rejects invalid data before a run starts.
fn checked(load: Load) -> Result<Load, CommandError> {
    match LoadPlan::open(&load) {
        Err(PlanError::Data(error)) => Err(CommandError::input(error)),
        // Other problems are reported by the run.
        Ok(_) | Err(_) => Ok(load),
    }
}

/// Runs load tests.
pub(crate) fn run(args: Args) -> CommandResult {
    match args.command {
        Some(BenchCommand::Compare(args)) => return compare::run(&args),
        Some(BenchCommand::Search(args)) => return search::run(&args),
        Some(BenchCommand::Soak(args)) => return soak::run(*args),
        Some(BenchCommand::Worker(args)) => return worker::run(&args),
        Some(BenchCommand::Locustfile(args)) => return locustfile::run(&args),
        Some(BenchCommand::MergeHistograms(args)) => return merge_histograms::run(&args),
        None => {}
    }
    execute(&args.run)
}

fn execute(args: &RunArgs) -> CommandResult {
    let seed = fresh_seed();
    let plan = BenchPlan {
        subject: if args.target.is_given() { args.target.subject() } else { "mock servers".to_owned() },
        seed,
        program: std::env::current_exe().map_err(CommandError::environment)?,
        connections: args.connections.map(NonZeroUsize::get),
        pid: args.pid,
        abort: args.abort_on_fail,
        baseline: args.baseline.as_deref().map(|path| baseline(path, args.tolerance)).transpose()?,
        loads: loads(args, seed)?,
    };
    run::execute(RunPlan::Bench(plan), &args.output)
}

/// Reads the report of an earlier run.
fn baseline(path: &Path, tolerance: Option<f64>) -> Result<LoadBaseline, CommandError> {
    const HELP: &str = "write one with `mcp-workbench bench --format json`";
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()));
    let text = text.map_err(CommandError::input)?;
    let run = saved::read(&text).with_context(|| format!("{} is not a report", path.display()));
    let run = run.map_err(|cause| CommandError::input(cause).with_help(HELP))?;
    LoadBaseline::new(run, tolerance.unwrap_or(0.1)).map_err(|cause| CommandError::input(cause).with_help(HELP))
}

fn loads(args: &RunArgs, seed: u64) -> Result<Vec<LoadTask>, CommandError> {
    let transport = args.transport.map(|transport| transport.0);
    let server = |load| Ok(LoadTask::Server(Box::new(args.target.config(transport)?), load));
    if args.load.is_given() {
        return Ok(vec![server(args.load.load()?)?]);
    }
    let Some(file) = &args.file else {
        return Err(CommandError::input(anyhow!("no load test"))
            .with_help("add the tool to call, for example `--tool echo`, or a scenario file with a `load`"));
    };
    let catalog =
        ScenarioCatalog::load(std::slice::from_ref(file), Vocabulary::built_in()).map_err(CommandError::input)?;
    let loads: Vec<(Arc<Scenario>, Load)> =
        catalog.scenarios().filter_map(|scenario| scenario.load.clone().map(|load| (scenario, load))).collect();
    if loads.is_empty() {
        return Err(CommandError::input(anyhow!("{} has no `load`", file.display())));
    }
    for (_, load) in &loads {
        checked(load.clone())?;
    }
    if args.target.is_given() {
        return loads.into_iter().map(|(_, load)| server(load)).collect();
    }
    let mut tasks = Vec::new();
    for (scenario, load) in loads {
        let selection = Selection { transports: transport.into_iter().collect(), ..Selection::default() };
        let plan = Plan::new([scenario], &selection, seed).map_err(CommandError::input)?;
        tasks.extend(plan.cases.into_iter().map(|case| LoadTask::Mock(Box::new(case), load.clone())));
    }
    Ok(tasks)
}
