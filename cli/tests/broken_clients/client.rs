//! A minimal client that implements the contract without a protocol library: raw JSON over pipes or HTTP.
//!
//! It supports every transport and revision. It omits everything that needs more than a process group to stop a server: a
//! descendant in another session, and SIGKILL of the client.
//!
//! To write a client of your own, read these modules in order: [`driver`] (steps and their outcomes), [`connection`]
//! (handshake and requests), [`inbox`] (received messages), and the transports [`stdio`] and [`http`].

mod alter;
mod connection;
mod defect;
mod drift;
mod driver;
mod fault;
mod greeting;
mod habit;
mod http;
mod http_sse;
mod idle;
mod inbox;
mod link;
mod listing;
mod names;
mod oauth;
mod report;
mod setup;
mod sse;
mod stdio;
mod tasks;
mod user;

pub(crate) use alter::{AlteredRow, ROWS as ALTERED, rows_of as altered_in};
pub(crate) use defect::Defect;
pub(crate) use habit::Habit;
pub(crate) use idle::ClientMode;

use std::process::ExitCode;

use clap::ValueEnum;
use defect::Flaw;
use serde_json::Value;

/// Environment variable with the context of a case: the servers, the steps, and the report file.
pub(crate) const CONTEXT: &str = "MCP_CONFORMANCE_CONTEXT";

/// Number of bytes that a client uses for nothing, more than any scenario allows.
const HOARD: usize = 450_000_000;

/// Executes the steps of the context. The arguments are `--defect <name>`, `--habit <name>`, `--mode <name>`, `--round
/// <number>` and the URL of the server, which the context contains too.
pub(crate) fn main(arguments: impl Iterator<Item = String>) -> ExitCode {
    match read_options(arguments).and_then(|(flaw, mode, round)| run(flaw, mode, round)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => report_error(&error),
    }
}

fn read_options(mut arguments: impl Iterator<Item = String>) -> anyhow::Result<(Flaw, ClientMode, Option<usize>)> {
    let (mut flaw, mut mode, mut round) = (Flaw::default(), ClientMode::default(), None);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--defect" => flaw.defect = Some(named(arguments.next())?),
            "--habit" => flaw.habit = Some(named(arguments.next())?),
            "--mode" => mode = named(arguments.next())?,
            "--round" => round = Some(arguments.next().unwrap_or_default().parse()?),
            _ => {}
        }
    }
    Ok((flaw, mode, round))
}

fn named<T: ValueEnum>(name: Option<String>) -> anyhow::Result<T> {
    let name = name.unwrap_or_default();
    T::from_str(&name, false).map_err(|_| anyhow::anyhow!("the client knows no `{name}`"))
}

fn run(mut flaw: Flaw, mode: ClientMode, round: Option<usize>) -> anyhow::Result<()> {
    let context: Value = serde_json::from_str(&std::env::var(CONTEXT)?)?;
    anyhow::ensure!(context["format"] == 1, "the context has another version of the contract");
    let word = |key: &str| context[key].as_str().unwrap_or_default();
    let case = format!("{}@{}@{}", word("scenario"), word("transport"), word("revision"));
    flaw.change = round.and_then(|round| alter::in_round(round, &case));
    // Memory counts when it was written to.
    let hoard = vec![1_u8; if flaw.is(Defect::HoardsMemory) { HOARD } else { 0 }];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let driven = runtime.block_on(idle::act(&context, flaw, mode));
    // Tasks may still read from servers.
    runtime.shutdown_background();
    drop(std::hint::black_box(hoard));
    driven
}

/// Prints the error to stderr, which the report of the workbench contains.
fn report_error(error: &anyhow::Error) -> ExitCode {
    use std::io::Write as _;
    // A closed stderr is ignored.
    let _ = writeln!(std::io::stderr(), "error: {error:#}");
    ExitCode::FAILURE
}
