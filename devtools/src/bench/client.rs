//! `bench client`: compares tool calls of the built-in client with the host of an agent, rmcp, a hyper loop and the TypeScript SDK.
//!
//! All clients call the same mock server in one run. Times depend on the machine, so only ratios are judged: the built-in
//! client must be at least as fast as rmcp everywhere, and the host almost as fast as the built-in client.

mod caller;
mod figures;
mod process;
mod report;

use std::{
    io::Write as _,
    time::{Duration, Instant},
};

use clap::{Subcommand, ValueEnum};

use self::{
    caller::{CallerArgs, Kind},
    figures::Row,
    process::{BenchClient, Load},
    report::Report,
};
use super::{
    measure::MeasureArgs,
    mock::{BenchServer, LEGACY, MODERN},
};
use crate::error::{CommandError, CommandResult};

/// Numbers of calls in flight over HTTP.
const HTTP_IN_FLIGHT: [usize; 3] = [1, 16, 64];
/// Numbers of calls in flight over stdio.
const STDIO_IN_FLIGHT: [usize; 2] = [1, 64];

/// The arguments of `bench client`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Transport to measure; repeatable [default: all].
    #[arg(long, value_name = "TRANSPORT")]
    only: Vec<Transport>,
    #[command(flatten)]
    measure: MeasureArgs,
    #[command(subcommand)]
    part: Option<Part>,
}

#[derive(Debug, Subcommand)]
enum Part {
    /// Run one of the measured clients.
    #[command(hide = true)]
    Caller(CallerArgs),
}

/// A measured transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Transport {
    /// Streamable HTTP with one connection per call in flight.
    Http,
    /// Standard input and output of a child process.
    Stdio,
}

/// Number and duration of the rounds.
#[derive(Debug, Clone, Copy)]
struct Effort {
    rounds: usize,
    each: Duration,
}

impl Effort {
    const FULL: Self = Self { rounds: 7, each: Duration::from_millis(1_000) };
    const QUICK: Self = Self { rounds: 3, each: Duration::from_millis(250) };
}

/// Measures the clients, or runs one of them.
pub(crate) fn run(args: &Args) -> CommandResult {
    if let Some(Part::Caller(caller)) = &args.part {
        return caller::run(caller);
    }
    args.measure.check_build()?;
    let effort = if args.measure.quick { Effort::QUICK } else { Effort::FULL };
    let start = Instant::now();
    let log_progress = |what: &str| {
        // Write errors are ignored.
        let _ = writeln!(std::io::stderr(), "{:6.1} s  {what}", start.elapsed().as_secs_f64());
    };
    let mut rows = Vec::new();
    for transport in [Transport::Http, Transport::Stdio] {
        if args.only.is_empty() || args.only.contains(&transport) {
            for revision in [LEGACY, MODERN] {
                rows.extend(measure(transport, revision, effort, &log_progress).map_err(CommandError::environment)?);
            }
        }
    }
    let report = Report::new(rows, process::has_typescript());
    args.measure.print(&report, || report.text(), report.passed())
}

fn measure(
    transport: Transport,
    revision: &'static str,
    effort: Effort,
    log_progress: &impl Fn(&str),
) -> anyhow::Result<Vec<Row>> {
    let server = match transport {
        Transport::Http => Some(BenchServer::mock_http(revision)?),
        Transport::Stdio => None,
    };
    let url = server.as_ref().map(|(_, address)| format!("http://{address}/mcp"));
    let in_flight: &[usize] = if url.is_some() { &HTTP_IN_FLIGHT } else { &STDIO_IN_FLIGHT };
    let mut rows = Vec::new();
    for &in_flight in in_flight {
        let load = Load { url: url.clone(), revision, in_flight };
        log_progress(&format!("{} {revision}, {in_flight} at a time", load.transport()));
        let kinds = Kind::ALL
            .into_iter()
            .filter(|kind| kind.calls_over(url.is_some()))
            .map(|kind| BenchClient::start(kind, &load));
        let mut clients: Vec<_> = kinds.collect::<anyhow::Result<_>>()?;
        clients.extend(BenchClient::typescript(&load)?);
        rows.push(figures::take(&mut clients, &load, effort.rounds, effort.each)?);
    }
    Ok(rows)
}
