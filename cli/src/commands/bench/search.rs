//! `bench search`: finds the highest rate that meets the thresholds.

use std::num::NonZeroUsize;

use anyhow::anyhow;
use reports::render::latency;
use scenarios::{
    bench::search::{FORMAT, RateSearch, RateSearchReport, SearchStep},
    run::fresh_seed,
};

use super::{
    LoadArgs,
    live::{LiveRuns, ReportArgs, ReportFormat, interrupted},
    percent,
};
use crate::{
    commands::target::TargetArgs,
    error::{CommandError, CommandResult, exit_code},
    print,
    transport::TransportArg,
};

/// Find the highest rate of an open loop that meets the thresholds.
///
/// The rate doubles from --from until a run fails, then the range is halved until it is as small as --precision. A failed run is
/// repeated once before it counts. Each run needs at least 95 % of its rate (--min-rate), and meets each --threshold. The
/// command fails with exit code 1 if --from already fails.
///
/// Example: mcp-workbench bench search --tool echo --from 50 --threshold 'p99 < 50ms' -- node server.js
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Lowest rate, in calls per second.
    #[arg(long, value_name = "RATE", default_value_t = 10.0)]
    from: f64,
    /// Highest rate, in calls per second.
    #[arg(long, value_name = "RATE", default_value_t = 100_000.0)]
    to: f64,
    /// Relative distance between the highest rate that passed and the lowest one that failed.
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "5%")]
    precision: f64,
    #[command(flatten)]
    load: LoadArgs,
    /// Transport of the URL [default: Streamable HTTP, or HTTP+SSE if the server supports nothing else].
    #[arg(long, value_name = "TRANSPORT", value_enum)]
    transport: Option<TransportArg>,
    /// Number of connections [default: over HTTP 8, otherwise 1].
    #[arg(long)]
    connections: Option<NonZeroUsize>,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    report: ReportArgs,
}

/// Searches for the highest rate.
pub(super) fn run(args: &Args) -> CommandResult {
    let LoadArgs { rate, users, calls, stages, .. } = &args.load;
    if rate.is_some() || users.is_some() || calls.is_some() || !stages.is_empty() {
        return Err(CommandError::input(anyhow!("a search chooses the rates itself"))
            .with_help("use `--from` and `--to` instead of `--rate`, `--users`, `--calls` and `--stages`"));
    }
    let base = args.load.load()?;
    let mut search = RateSearch::new(args.from, args.to, args.precision).map_err(CommandError::input)?;
    let config = args.target.config(args.transport.map(|transport| transport.0))?;
    let runs = LiveRuns::new(args.connections.map(NonZeroUsize::get), fresh_seed())?;
    let (mut steps, mut complete) = (Vec::new(), true);
    while let Some(rate) = search.next_rate() {
        let load = LoadArgs { rate: Some(rate), ..args.load.clone() }.load()?;
        let Some(result) = runs.run(&config, &load)? else {
            complete = false;
            break;
        };
        let step = SearchStep::new(rate, result);
        search.record(rate, step.passed);
        args.report.progress(&line(&step));
        steps.push(step);
    }
    if steps.is_empty() {
        return interrupted();
    }
    let report = RateSearchReport {
        format: FORMAT,
        server: args.target.subject(),
        tool: base.name(),
        best_rate: search.best(),
        lowest_failed_rate: search.lowest_failed(),
        precision_percent: args.precision * 100.0,
        complete,
        steps,
    };
    match args.report.format {
        ReportFormat::Text => print::text(&render(&report))?,
        ReportFormat::Json => print::pretty_json(&report)?,
    }
    Ok(exit_code(report.best_rate.is_some() && complete))
}

/// A step in one line, as progress.
fn line(step: &SearchStep) -> String {
    match step.failed.first() {
        None => format!("{}/s passed", step.rate),
        Some(reason) => format!("{}/s failed: {reason}", step.rate),
    }
}

fn render(report: &RateSearchReport) -> String {
    let mut out = format!("{:>10}  {:>10}  {:>10}  {:>10}  verdict\n", "rate/s", "achieved/s", "p50", "p99");
    for step in &report.steps {
        let latencies = step.result.latency.map(|one| [one.p50_us, one.p99_us].map(|us| latency(us as f64)));
        let [p50, p99] = latencies.unwrap_or_else(|| ["-", "-"].map(str::to_owned));
        // The progress has the measured values.
        let metrics: Vec<&str> =
            step.failed.iter().map(|reason| reason.split(" (").next().unwrap_or_default()).collect();
        let verdict = if step.passed { "passed".to_owned() } else { format!("failed: {}", metrics.join("; ")) };
        let achieved = format!("{:.1}", step.result.achieved_rate);
        out.push_str(&format!("{:>10}  {achieved:>10}  {p50:>10}  {p99:>10}  {verdict}\n", step.rate));
    }
    if !report.complete {
        out.push_str("\ninterrupted");
    }
    out.push_str(&match (report.best_rate, report.lowest_failed_rate) {
        (Some(best), Some(failed)) => format!("\nhighest rate: {best}/s; {failed}/s failed"),
        (Some(best), None) => format!("\nhighest rate: {best}/s; no rate failed"),
        (None, Some(failed)) => format!("\nno rate passed; {failed}/s failed"),
        (None, None) => "\nno rate passed".to_owned(),
    });
    out
}
