//! `bench compare`: compares two servers under the same load.

use std::num::NonZeroUsize;

use anyhow::anyhow;
use client::ServerConfig;
use mock_servers::HumanDuration;
use reports::{model::LoadResult, render::latency};
use scenarios::{
    bench::compare::{
        CompareMetric, Decision, Difference, MIN_PAIRS, MetricRatio, PairedComparison, PairedRuns, Side, order,
    },
    model::Load,
    run::fresh_seed,
};

use super::{
    LoadArgs,
    live::{LiveRuns, ReportArgs, ReportFormat, interrupted},
    percent,
};
use crate::{
    commands::target::{TargetArgs, header, variable},
    error::{CommandError, CommandResult, exit_code},
    print,
    transport::TransportArg,
};

/// Compare two servers under the same load.
///
/// Short runs of both servers alternate (A B, B A, …), each on connections and processes of its own. Each pair of runs has one
/// ratio; the report has their trimmed mean with a 95 % bootstrap interval. One metric decides (--metric). The command fails
/// with exit code 1 if B is worse by more than --tolerance, and the interval excludes equal servers.
///
/// Example: mcp-workbench bench compare --tool echo --a 'node old.js' --b 'node new.js'
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// First server: a URL, or a command with its arguments in one argument.
    #[arg(long, value_name = "SERVER")]
    a: String,
    /// Second server, which is worse or better than the first one.
    #[arg(long, value_name = "SERVER")]
    b: String,
    /// Minimum number of pairs of runs, at least 5.
    #[arg(long, default_value_t = 20)]
    pairs: usize,
    /// Number of pairs up to which more pairs are run while the 95 % interval is too wide, as on a busy machine
    /// [default: three times --pairs].
    #[arg(long)]
    max_pairs: Option<usize>,
    /// Metric that decides; the others are only reported.
    #[arg(long, value_enum, default_value_t = MetricArg::P50)]
    metric: MetricArg,
    /// Largest difference that is not reported.
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "2%")]
    tolerance: f64,
    /// Seed of the bootstrap and of random arrivals [default: random].
    #[arg(long)]
    seed: Option<u64>,
    /// Load of each run; by default it lasts 1s after a warm-up of 200ms.
    #[command(flatten)]
    load: LoadArgs,
    /// Transport of the URLs [default: Streamable HTTP, or HTTP+SSE if the server supports nothing else].
    #[arg(long, value_name = "TRANSPORT", value_enum)]
    transport: Option<TransportArg>,
    /// Number of connections [default: over HTTP one per user up to 64, 8 in an open loop; otherwise 1].
    #[arg(long)]
    connections: Option<NonZeroUsize>,
    /// HTTP header to send with every request to URLs.
    #[arg(long, value_name = "NAME: VALUE", value_parser = header)]
    header: Vec<(String, String)>,
    /// Environment variable of the commands.
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    env: Vec<(String, String)>,
    #[command(flatten)]
    report: ReportArgs,
}

/// A metric.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum MetricArg {
    /// Median of the latencies.
    P50,
    /// Mean of the latencies.
    Mean,
    /// 90th percentile.
    P90,
    /// 95th percentile.
    P95,
    /// 99th percentile.
    P99,
    /// Successful calls per second.
    #[value(name = "achieved_rate", alias = "rate")]
    AchievedRate,
}

impl From<MetricArg> for CompareMetric {
    fn from(metric: MetricArg) -> Self {
        match metric {
            MetricArg::P50 => Self::P50,
            MetricArg::Mean => Self::Mean,
            MetricArg::P90 => Self::P90,
            MetricArg::P95 => Self::P95,
            MetricArg::P99 => Self::P99,
            MetricArg::AchievedRate => Self::AchievedRate,
        }
    }
}

/// Compares two servers.
pub(super) fn run(args: &Args) -> CommandResult {
    if args.pairs < MIN_PAIRS {
        return Err(CommandError::input(anyhow!("{} pairs are too few", args.pairs))
            .with_help(format!("use at least {MIN_PAIRS}; 20 have a useful interval")));
    }
    if !args.load.threshold.is_empty() {
        return Err(CommandError::input(anyhow!("a comparison has no thresholds"))
            .with_help("use `--metric` and `--tolerance`, or run `bench` with thresholds on each server"));
    }
    let load = load(args)?;
    let seed = args.seed.unwrap_or_else(fresh_seed);
    let targets = [target(args, &args.a)?, target(args, &args.b)?];
    let transport = args.transport.map(|transport| transport.0);
    // A transport is one of a URL; a command has none to choose.
    let config = |target: &TargetArgs| target.config(transport.filter(|_| target.url().is_some()));
    let configs = [config(&targets[0])?, config(&targets[1])?];
    let runs = LiveRuns::new(args.connections.map(NonZeroUsize::get), seed)?;
    let decision = Decision { metric: args.metric.into(), tolerance: args.tolerance, seed };
    let pairs = pairs(args, &runs, &configs, &load, decision)?;
    if pairs.len() < MIN_PAIRS {
        return interrupted();
    }
    let servers = targets.map(|target| target.subject());
    let mut comparison = PairedRuns { servers, pairs: &pairs }.compare(decision).map_err(CommandError::environment)?;
    if pairs.len() < args.pairs {
        comparison.warnings.push(format!("interrupted after {} of {} pairs", pairs.len(), args.pairs));
    }
    match args.report.format {
        ReportFormat::Text => print::text(&render(&comparison))?,
        ReportFormat::Json => print::pretty_json(&comparison)?,
    }
    Ok(exit_code(comparison.difference != Difference::Worse))
}

fn load(args: &Args) -> Result<Load, CommandError> {
    let mut load = args.load.clone();
    if load.stages.is_empty() && load.calls.is_none() {
        load.duration.get_or_insert(HumanDuration::from_millis(1_000));
    }
    load.warmup.get_or_insert(HumanDuration::from_millis(200));
    load.load()
}

fn target(args: &Args, server: &str) -> Result<TargetArgs, CommandError> {
    TargetArgs::parse(server, args.header.clone(), args.env.clone())
}

/// Executes the pairs. Fewer if the user interrupts.
fn pairs(
    args: &Args,
    runs: &LiveRuns,
    [a, b]: &[ServerConfig; 2],
    load: &Load,
    decision: Decision,
) -> Result<Vec<[LoadResult; 2]>, CommandError> {
    let mut pairs = Vec::new();
    let most = args.max_pairs.unwrap_or(args.pairs.saturating_mul(3)).max(args.pairs);
    for pair in 0..most {
        // The bootstrap takes some time, and a single pair changes little.
        if pair >= args.pairs && (pair - args.pairs).is_multiple_of(5) {
            let compared = PairedRuns { servers: [String::new(), String::new()], pairs: &pairs };
            if !compared.needs_more_pairs(decision) {
                break;
            }
        }
        let (mut first, mut second) = (None, None);
        for side in order(pair) {
            let (name, config, result) = match side {
                Side::A => ("A", a, &mut first),
                Side::B => ("B", b, &mut second),
            };
            *result = runs.run(config, load).map_err(|error| error.in_context(format!("server {name}")))?;
        }
        let (Some(first), Some(second)) = (first, second) else { break };
        let values = [&first, &second].map(|run| CompareMetric::from(args.metric).value(run));
        args.report.progress(&progress(pair + 1, args.pairs.max(pair + 1), args.metric.into(), values));
        pairs.push([first, second]);
    }
    Ok(pairs)
}

fn progress(pair: usize, pairs: usize, metric: CompareMetric, values: [Option<f64>; 2]) -> String {
    let name = metric.as_str();
    match values {
        [Some(a), Some(b)] => {
            let change = (b / a - 1.0) * 100.0;
            format!("pair {pair} of {pairs}: {name} A {}, B {} ({change:+.1} %)", value(metric, a), value(metric, b))
        }
        _ => format!("pair {pair} of {pairs}: no successful calls"),
    }
}

fn value(metric: CompareMetric, value: f64) -> String {
    if metric.higher_is_better() { format!("{value:.1}/s") } else { latency(value) }
}

fn render(comparison: &PairedComparison) -> String {
    let mut out = format!("{:<14} {:>12} {:>12}  {:>8}  95 % interval\n", "metric", "A", "B", "B to A");
    for MetricRatio { metric, decides, a, b, ratio, .. } in &comparison.metrics {
        let percent = ratio.map(|ratio| (ratio - 1.0) * 100.0);
        let [a, b] = [*a, *b].map(|one| value(*metric, one));
        let decides = if *decides { "  (decides)" } else { "" };
        let change = format!("{:+.1} %", percent.value);
        let interval = format!("{:+.1} to {:+.1} %", percent.low, percent.high);
        out.push_str(&format!("{:<14} {a:>12} {b:>12}  {change:>8}  {interval}{decides}\n", metric.as_str()));
    }
    for (name, server) in [("A", &comparison.a), ("B", &comparison.b)] {
        let (succeeded, offered) = (server.succeeded, server.offered);
        out.push_str(&format!(
            "\n{name}: {} ({}; {succeeded} of {offered} calls succeeded)",
            server.server, server.transport
        ));
    }
    let seconds = comparison.counted_ms as f64 / 1_000.0;
    out.push_str(&format!("\nload: {}; {} pairs of runs of {seconds} s\n", comparison.load, comparison.pairs));
    for warning in &comparison.warnings {
        out.push_str(&format!("warning: {warning}\n"));
    }
    out.push_str(&format!("\n{}", comparison.verdict));
    out
}
