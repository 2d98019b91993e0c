//! `bench mock`: compares the mock servers with minimal servers, and measures their memory.
//!
//! Times depend on the machine, so only ratios within one run are judged.

mod baseline;
mod connection;
mod http;
mod memory;
pub(super) mod messages;
mod report;
mod rounds;
mod server;
mod stdio;
mod thresholds;

use std::{
    io::Write as _,
    time::{Duration, Instant},
};

use clap::ValueEnum;

use self::{
    baseline::BaselineServer,
    report::{Calls, Grown, Report, Sessions, http_threshold},
};
pub(super) use self::{
    messages::{ARGUMENT, LEGACY, MODERN, RESULT_TEXT, TOOL},
    rounds::median,
    server::BenchServer,
};
use super::measure::MeasureArgs;
use crate::{
    error::{CommandError, CommandResult},
    interrupt,
};

/// The arguments of `bench mock`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Part to measure; repeatable [default: all].
    #[arg(long, value_name = "PART")]
    only: Vec<Part>,
    #[command(flatten)]
    measure: MeasureArgs,
    #[command(subcommand)]
    baseline: Option<BaselineServer>,
}

/// A part of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Calls over Streamable HTTP.
    Http,
    /// Calls over stdio.
    Stdio,
    /// Memory of many sessions.
    Sessions,
    /// Memory after many calls.
    Growth,
}

/// Number and duration of the rounds, and number of calls.
#[derive(Debug, Clone, Copy)]
struct Effort {
    rounds: usize,
    each: Duration,
    calls: u64,
}

impl Effort {
    const FULL: Self = Self { rounds: 7, each: Duration::from_millis(1_000), calls: 1_000_000 };
    const QUICK: Self = Self { rounds: 3, each: Duration::from_millis(250), calls: 100_000 };
}

/// Measures the mock servers, or runs a baseline server.
pub(crate) fn run(args: &Args) -> CommandResult {
    if let Some(server) = &args.baseline {
        return baseline::run(server);
    }
    args.measure.check_build()?;
    let effort = if args.measure.quick { Effort::QUICK } else { Effort::FULL };
    let bench = Bench { runtime: interrupt::runtime()?, effort, start: Instant::now() };
    let mut report = Report::new();
    let wanted = |part| args.only.is_empty() || args.only.contains(&part);
    bench.measure(wanted, &mut report).map_err(CommandError::environment)?;
    let passed = report.judge();
    args.measure.print(&report, || report.text(), passed)
}

/// One run.
struct Bench {
    runtime: tokio::runtime::Runtime,
    effort: Effort,
    start: Instant,
}

impl Bench {
    fn measure(&self, wanted: impl Fn(Part) -> bool, report: &mut Report) -> anyhow::Result<()> {
        if wanted(Part::Http) {
            for revision in [LEGACY, MODERN] {
                self.http(revision, report)?;
            }
        }
        if wanted(Part::Stdio) {
            for revision in [LEGACY, MODERN] {
                self.stdio(revision, report)?;
            }
        }
        if wanted(Part::Sessions) {
            self.log_progress(&format!("{} sessions", thresholds::SESSIONS));
            let bytes = memory::session_memory(&self.runtime, thresholds::SESSIONS)?;
            report.sessions.push(Sessions { sessions: thresholds::SESSIONS, bytes, max: thresholds::SESSIONS_MEMORY });
        }
        if wanted(Part::Growth) {
            self.growth(report)?;
        }
        Ok(())
    }

    fn http(&self, revision: &'static str, report: &mut Report) -> anyhow::Result<()> {
        let mut pair = http::Pair::start(&self.runtime, revision)?;
        for concurrency in [1, 16, thresholds::HTTP_JUDGED_AT] {
            self.log_progress(&format!("http {revision}, {concurrency} at a time"));
            let compared = pair.compare(&self.runtime, concurrency, self.effort.rounds, self.effort.each)?;
            let min_ratio = http_threshold(concurrency);
            report.calls.push(Calls { transport: "http", revision, concurrency, compared, min_ratio });
        }
        Ok(())
    }

    fn stdio(&self, revision: &'static str, report: &mut Report) -> anyhow::Result<()> {
        let mut pair = stdio::Pair::start(revision)?;
        for concurrency in [1, 64] {
            self.log_progress(&format!("stdio {revision}, {concurrency} at a time"));
            let compared = pair.compare(concurrency, self.effort.rounds, self.effort.each)?;
            let min_ratio = Some(thresholds::STDIO_RATIO);
            report.calls.push(Calls { transport: "stdio", revision, concurrency, compared, min_ratio });
        }
        Ok(())
    }

    fn growth(&self, report: &mut Report) -> anyhow::Result<()> {
        let (calls, max) = (self.effort.calls, thresholds::GROWTH);
        for revision in [LEGACY, MODERN] {
            self.log_progress(&format!("http {revision}, {calls} calls"));
            let pair = http::Pair::start(&self.runtime, revision)?;
            let growth = memory::over_http(&self.runtime, pair, revision, calls)?;
            report.growth.push(Grown { transport: "http", revision, growth, max });
            self.log_progress(&format!("stdio {revision}, {calls} calls"));
            let growth = memory::over_stdio(stdio::Pair::start(revision)?, calls)?;
            report.growth.push(Grown { transport: "stdio", revision, growth, max });
        }
        Ok(())
    }

    /// Prints the current measurement to standard error. Write errors are ignored.
    fn log_progress(&self, what: &str) {
        let _ = writeln!(std::io::stderr(), "{:6.1} s  {what}", self.start.elapsed().as_secs_f64());
    }
}
