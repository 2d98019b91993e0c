//! The smallest client that follows the contract, written without any library of the protocol's: raw JSON over the pipes of
//! a child process, or over HTTP.
//!
//! It speaks stdio and Streamable HTTP, in the revisions with a handshake and in 2026-07-28. It leaves out HTTP+SSE, which
//! is on its way out, and what takes more than a process group to hold a server: a grandchild in a session of its own, and
//! the client's own sudden death.
//!
//! To write a client of your own, read on in this order: [`driver`] (the steps and what is reported of them), [`connection`]
//! (greeting and requests), [`inbox`] (what arrives), then the two transports, [`stdio`] and [`http`].

mod connection;
mod defect;
mod drift;
mod driver;
mod fault;
mod greeting;
mod http;
mod inbox;
mod link;
mod listing;
mod names;
mod report;
mod setup;
mod sse;
mod stdio;
mod tasks;
mod user;

pub(crate) use defect::Defect;

use std::process::ExitCode;

use clap::ValueEnum;
use defect::Flaw;
use serde_json::Value;

/// The environment variable that holds the context of a case: the servers, the steps, and the file to report to.
pub(crate) const CONTEXT: &str = "MCP_CONFORMANCE_CONTEXT";

/// Does what the context says. The arguments are `--defect <name>` and, last, the URL of the server, which the context
/// names too.
pub(crate) fn main(mut arguments: impl Iterator<Item = String>) -> ExitCode {
    let mut flaw = Flaw::default();
    while let Some(argument) = arguments.next() {
        if argument == "--defect" {
            let name = arguments.next().unwrap_or_default();
            let Ok(defect) = Defect::from_str(&name, false) else {
                return told(&anyhow::anyhow!("there is no defect `{name}`"));
            };
            flaw = Flaw(Some(defect));
        }
    }
    match run(flaw) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => told(&error),
    }
}

fn run(flaw: Flaw) -> anyhow::Result<()> {
    let context: Value = serde_json::from_str(&std::env::var(CONTEXT)?)?;
    anyhow::ensure!(context["format"] == 1, "the context is of another version of the contract");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let driven = runtime.block_on(driver::drive(&context, flaw));
    // What still reads from a server is of no interest any more.
    runtime.shutdown_background();
    driven
}

/// Standard error ends up in the workbench's report.
fn told(error: &anyhow::Error) -> ExitCode {
    use std::io::Write as _;
    // If it cannot be told, nobody is there to be told.
    let _ = writeln!(std::io::stderr(), "error: {error:#}");
    ExitCode::FAILURE
}
