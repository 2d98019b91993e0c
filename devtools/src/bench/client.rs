//! `bench client`: how fast the client of this program calls a tool, beside a bare rmcp client, a bare hyper loop and the
//! TypeScript SDK, all against the same mock server in one run. Times differ from machine to machine and from hour to hour,
//! so only ratios are judged: nowhere may a call take longer than rmcp's.

mod caller;
mod figures;
mod party;
mod report;

use std::{
    io::Write as _,
    time::{Duration, Instant},
};

use clap::{Subcommand, ValueEnum};

use self::{
    caller::{CallerArgs, Kind},
    figures::Row,
    party::{Load, Party},
    report::Report,
};
use super::{
    measuring::Measuring,
    mock::{LEGACY, MODERN, Server},
};
use crate::error::{CommandError, CommandResult};

/// How many calls are in flight over HTTP, in turn.
const HTTP_IN_FLIGHT: [usize; 3] = [1, 16, 64];
/// How many calls are in flight over stdio, in turn.
const STDIO_IN_FLIGHT: [usize; 2] = [1, 64];

/// The arguments of `bench client`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only this transport; may be given more than once.
    #[arg(long, value_name = "TRANSPORT")]
    only: Vec<Transport>,
    #[command(flatten)]
    measuring: Measuring,
    #[command(subcommand)]
    part: Option<Part>,
}

#[derive(Debug, Subcommand)]
enum Part {
    /// Be one of the clients that are measured.
    #[command(hide = true)]
    Caller(CallerArgs),
}

/// What calls travel over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Transport {
    /// Streamable HTTP, one connection for each call in flight.
    Http,
    /// Standard input and output of a child.
    Stdio,
}

/// How long and how often.
#[derive(Debug, Clone, Copy)]
struct Effort {
    rounds: usize,
    each: Duration,
}

impl Effort {
    const FULL: Self = Self { rounds: 7, each: Duration::from_millis(1_000) };
    const QUICK: Self = Self { rounds: 3, each: Duration::from_millis(250) };
}

/// Measures the clients, or is one of them.
pub(crate) fn run(args: &Args) -> CommandResult {
    if let Some(Part::Caller(caller)) = &args.part {
        return caller::run(caller);
    }
    args.measuring.check_build()?;
    let effort = if args.measuring.quick { Effort::QUICK } else { Effort::FULL };
    let began = Instant::now();
    let say = |what: &str| {
        // A log that cannot be written is no reason to stop.
        let _ = writeln!(std::io::stderr(), "{:6.1} s  {what}", began.elapsed().as_secs_f64());
    };
    let mut rows = Vec::new();
    for transport in [Transport::Http, Transport::Stdio] {
        if args.only.is_empty() || args.only.contains(&transport) {
            for revision in [LEGACY, MODERN] {
                rows.extend(measure(transport, revision, effort, &say).map_err(CommandError::environment)?);
            }
        }
    }
    let report = Report::new(rows, party::has_typescript());
    args.measuring.print(&report, || report.text(), report.passed())
}

fn measure(
    transport: Transport,
    revision: &'static str,
    effort: Effort,
    say: &impl Fn(&str),
) -> anyhow::Result<Vec<Row>> {
    let server = match transport {
        Transport::Http => Some(Server::mock_http(revision)?),
        Transport::Stdio => None,
    };
    let url = server.as_ref().map(|(_, address)| format!("http://{address}/mcp"));
    let in_flight: &[usize] = if url.is_some() { &HTTP_IN_FLIGHT } else { &STDIO_IN_FLIGHT };
    let mut rows = Vec::new();
    for &in_flight in in_flight {
        let load = Load { url: url.clone(), revision, in_flight };
        say(&format!("{} {revision}, {in_flight} at a time", load.transport()));
        let kinds =
            Kind::ALL.into_iter().filter(|kind| kind.calls_over(url.is_some())).map(|kind| Party::start(kind, &load));
        let mut parties: Vec<_> = kinds.collect::<anyhow::Result<_>>()?;
        parties.extend(Party::typescript(&load)?);
        rows.push(figures::take(&mut parties, &load, effort.rounds, effort.each)?);
    }
    Ok(rows)
}
