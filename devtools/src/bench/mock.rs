//! `bench mock`: how fast the mock servers of this program are, against servers that do nothing, and what they keep in
//! memory. The figures are of one run on one machine, so only their ratios are judged.

mod bare;
mod bounds;
mod http;
mod memory;
mod report;
mod rounds;
pub(super) mod speech;
mod stdio;
mod subject;
mod wire;

use std::{
    io::Write as _,
    time::{Duration, Instant},
};

use clap::ValueEnum;

use self::report::{Calls, Grown, Report, Sessions, http_bound};
pub(super) use self::{
    rounds::median,
    speech::{ANSWER, ARGUMENT, LEGACY, MODERN, TOOL},
    subject::Subject as Server,
};
use super::measuring::Measuring;
use crate::{
    error::{CommandError, CommandResult},
    interrupt,
};

/// The arguments of `bench mock`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only this part; may be given more than once.
    #[arg(long, value_name = "PART")]
    only: Vec<Part>,
    #[command(flatten)]
    measuring: Measuring,
    #[command(subcommand)]
    bare: Option<bare::Bare>,
}

/// What can be measured by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Calls over Streamable HTTP.
    Http,
    /// Calls over stdio.
    Stdio,
    /// The memory of many sessions.
    Sessions,
    /// The memory after many calls.
    Growth,
}

/// How long and how often.
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

/// Measures the mocks, or is one of the servers that they are measured against.
pub(crate) fn run(args: &Args) -> CommandResult {
    if let Some(bare) = &args.bare {
        return bare::run(bare);
    }
    args.measuring.check_build()?;
    let effort = if args.measuring.quick { Effort::QUICK } else { Effort::FULL };
    let bench = Bench { runtime: interrupt::runtime()?, effort, began: Instant::now() };
    let mut report = Report::new();
    let wanted = |part| args.only.is_empty() || args.only.contains(&part);
    bench.measure(wanted, &mut report).map_err(CommandError::environment)?;
    let all_held = report.judge();
    args.measuring.print(&report, || report.text(), all_held)
}

/// One run.
struct Bench {
    runtime: tokio::runtime::Runtime,
    effort: Effort,
    began: Instant,
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
            self.say(&format!("{} sessions", bounds::SESSIONS));
            let bytes = memory::of_sessions(&self.runtime, bounds::SESSIONS)?;
            report.sessions.push(Sessions { sessions: bounds::SESSIONS, bytes, most: bounds::SESSIONS_MEMORY });
        }
        if wanted(Part::Growth) {
            self.growth(report)?;
        }
        Ok(())
    }

    fn http(&self, revision: &'static str, report: &mut Report) -> anyhow::Result<()> {
        let mut pair = http::Pair::start(&self.runtime, revision)?;
        for concurrency in [1, 16, bounds::HTTP_JUDGED_AT] {
            self.say(&format!("http {revision}, {concurrency} at a time"));
            let compared = pair.compare(&self.runtime, concurrency, self.effort.rounds, self.effort.each)?;
            let least = http_bound(concurrency);
            report.calls.push(Calls { transport: "http", revision, concurrency, compared, least });
        }
        Ok(())
    }

    fn stdio(&self, revision: &'static str, report: &mut Report) -> anyhow::Result<()> {
        let mut pair = stdio::Pair::start(revision)?;
        for concurrency in [1, 64] {
            self.say(&format!("stdio {revision}, {concurrency} at a time"));
            let compared = pair.compare(concurrency, self.effort.rounds, self.effort.each)?;
            let least = Some(bounds::STDIO_RATIO);
            report.calls.push(Calls { transport: "stdio", revision, concurrency, compared, least });
        }
        Ok(())
    }

    fn growth(&self, report: &mut Report) -> anyhow::Result<()> {
        let (calls, most) = (self.effort.calls, bounds::GROWTH);
        for revision in [LEGACY, MODERN] {
            self.say(&format!("http {revision}, {calls} calls"));
            let pair = http::Pair::start(&self.runtime, revision)?;
            let growth = memory::over_http(&self.runtime, pair, revision, calls)?;
            report.growth.push(Grown { transport: "http", revision, growth, most });
            self.say(&format!("stdio {revision}, {calls} calls"));
            let growth = memory::over_stdio(stdio::Pair::start(revision)?, calls)?;
            report.growth.push(Grown { transport: "stdio", revision, growth, most });
        }
        Ok(())
    }

    /// Says on standard error what is measured now.
    fn say(&self, what: &str) {
        // A log that cannot be written is no reason to stop.
        let _ = writeln!(std::io::stderr(), "{:6.1} s  {what}", self.began.elapsed().as_secs_f64());
    }
}
