//! `client ping`: the time of a response that needs no work of the server.

use std::{process::ExitCode, time::Instant};

use client::Era;
use serde_json::json;

use super::{session, target::ServerArgs};
use crate::{error::CommandResult, print};

/// The arguments of `client ping`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Number of requests, one after another.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    count: u32,
    #[command(flatten)]
    target: ServerArgs,
}

/// Sends `ping`, or `server/discover` in revisions that have no ping, and prints the time of each response.
pub(crate) fn run(args: &Args) -> CommandResult {
    session::run(&args.target, |connection| async move {
        let method = if connection.era() == Era::Modern { "server/discover" } else { "ping" };
        let mut times_ms = Vec::new();
        for _ in 0..args.count {
            let sent = Instant::now();
            connection.request_method(method, None).await?;
            let took_ms = sent.elapsed().as_secs_f64() * 1e3;
            if !args.target.json {
                print::text(&format!("response to {method} after {took_ms:.2} ms"))?;
            }
            times_ms.push(took_ms);
        }
        if args.target.json {
            print::json(&json!({ "method": method, "times_ms": times_ms }))?;
        }
        Ok(ExitCode::SUCCESS)
    })
}
