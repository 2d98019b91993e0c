//! `bench worker`: makes the calls of a distributed load for a Locust master.

use std::{num::NonZeroUsize, path::PathBuf, process::ExitCode};

use anyhow::anyhow;
use mock_servers::HumanDuration;
use scenarios::{
    bench::{
        connect::LoadConnectError,
        locust::{self, Notice, WorkerError, WorkerSettings},
    },
    model::{Closed, Load, LoadOperation, MixEntry, Shape},
    run::fresh_seed,
};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::{checked, expecting, object};
use crate::{
    commands::target::TargetArgs,
    error::{CommandError, CommandResult},
    interrupt, print,
    transport::TransportArg,
};

/// The arguments of `bench worker`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Host and port of the Locust master; its workers connect to 5557 by default.
    #[arg(long, value_name = "HOST:PORT", value_parser = address)]
    locust: String,
    /// Tool to call.
    #[arg(long, required_unless_present_any = ["mix", "step"])]
    tool: Option<String>,
    /// Arguments of the tool, as a JSON object. They can contain `{{iteration}}`, `{{user}}` and `{{COLUMN}}` of --data.
    #[arg(long, value_name = "JSON", value_parser = object, conflicts_with_all = ["mix", "step"])]
    arguments: Option<Map<String, Value>>,
    /// Operation of a mix, as `8:echo` or `2:tools/list`: its weight, and a tool or a method with `=JSON` for arguments or
    /// parameters. Each call is one of the operations, chosen at random, and has the statistics of its operation.
    #[arg(long, value_name = "WEIGHT:OPERATION", conflicts_with_all = ["tool", "step"])]
    mix: Vec<MixEntry>,
    /// Operation of a sequence, as `echo={"message": "hi"}`. Each user executes all of them, one after the other, again and
    /// again; each has statistics of its own.
    #[arg(long, value_name = "OPERATION", conflicts_with = "tool")]
    step: Vec<LoadOperation>,
    /// File with a row of values for each call of the worker, from the first one again after the last: CSV with a header, or
    /// JSON Lines (`.jsonl`).
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// Open loop: calls, or sequences, per second of each user [default: a user calls after each response].
    #[arg(long, value_name = "RATE")]
    rate_per_user: Option<f64>,
    /// Closed loop: pause of a user between a response and the next call [default: none].
    #[arg(long, value_name = "DURATION", conflicts_with = "rate_per_user")]
    think_time: Option<HumanDuration>,
    /// Maximum number of open calls in an open loop. Other calls wait, and the wait is part of their latency
    /// [default: 10000].
    #[arg(long, requires = "rate_per_user")]
    max_in_flight: Option<NonZeroUsize>,
    /// Timeout of a call [default: 60s].
    #[arg(long)]
    timeout: Option<HumanDuration>,
    /// HTTP/2 instead of HTTP/1.1: many calls share a connection. Over TLS it is negotiated (ALPN), otherwise the server must
    /// accept it with prior knowledge.
    #[arg(long)]
    http2: bool,
    /// Text that the result of each call contains; a call with another result fails.
    #[arg(long, value_name = "TEXT")]
    expect_text: Option<String>,
    /// Number of sessions over HTTP, or of processes over stdio [default: 8 over HTTP, otherwise 1].
    #[arg(long)]
    connections: Option<NonZeroUsize>,
    /// Transport of the URL [default: Streamable HTTP].
    #[arg(long, value_name = "TRANSPORT", value_enum)]
    transport: Option<TransportArg>,
    /// Print nothing but errors.
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    target: TargetArgs,
}

/// Checks the form `HOST:PORT`, also with an IPv6 address in brackets.
fn address(text: &str) -> Result<String, String> {
    let parts =
        text.rsplit_once(':').filter(|(host, _)| !host.is_empty() && (!host.contains(':') || host.ends_with(']')));
    match parts.and_then(|(_, port)| port.parse::<u16>().ok()) {
        Some(port) if port > 0 => Ok(text.to_owned()),
        _ => Err("an address is written HOST:PORT, for example 10.0.0.1:5557".to_owned()),
    }
}

impl Args {
    fn settings(&self) -> Result<WorkerSettings, CommandError> {
        // The master decides about users and duration.
        let shape = Shape::Closed(Closed::new(1));
        let load = Load {
            tool: self.tool.clone(),
            arguments: self.arguments.clone(),
            mix: self.mix.clone(),
            steps: self.step.clone(),
            data: self.data.clone(),
            http2: self.http2,
            timeout: self.timeout,
            ..Load::new("", shape, HumanDuration::from_millis(1))
        };
        let load = checked(expecting(load, self.expect_text.as_deref()))?;
        Ok(WorkerSettings {
            master: self.locust.clone(),
            config: self.target.config(self.transport.map(|transport| transport.0))?,
            connections: self.connections.map(NonZeroUsize::get),
            load,
            think_time: self.think_time.map(|time| time.0),
            rate_per_user: self.rate_per_user,
            max_in_flight: self.max_in_flight.map(NonZeroUsize::get),
            seed: fresh_seed(),
        })
    }
}

/// Works until the master ends the run.
pub(super) fn run(args: &Args) -> CommandResult {
    let settings = args.settings()?;
    let cancel = CancellationToken::new();
    let show = |notice: Notice| {
        if !args.quiet {
            print::note(&text(&notice, &args.locust));
        }
    };
    let worked = interrupt::runtime()?.block_on(async {
        let worker = locust::run(settings, show, cancel.clone());
        tokio::pin!(worker);
        tokio::select! {
            worked = &mut worker => return worked,
            () = interrupt::requested() => cancel.cancel(),
        }
        worker.await
    });
    worked.map(|()| ExitCode::SUCCESS).map_err(failure)
}

fn text(notice: &Notice, master: &str) -> String {
    match notice {
        Notice::Connecting => format!("the server has the tools; connecting to the Locust master at {master}"),
        Notice::Registered { node_id } => format!("registered as {node_id}"),
        Notice::Lost { reason } => format!("{reason}; all users stopped, connecting again"),
    }
}

fn failure(error: WorkerError) -> CommandError {
    match error {
        WorkerError::Plan(_)
        | WorkerError::Rate { .. }
        | WorkerError::NoRawDriver { .. }
        | WorkerError::Connect(LoadConnectError::UnknownTool { .. } | LoadConnectError::RejectedTool { .. }) => {
            CommandError::input(error)
        }
        WorkerError::NoMaster { .. } => CommandError::environment(error)
            .with_help("start it with `locust -f locustfile.py --master`; `bench locustfile` writes the file"),
        WorkerError::Users => CommandError::internal(anyhow!(error)),
        WorkerError::Connect(_) | WorkerError::Raw(_) => CommandError::environment(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_host_and_a_port() {
        for text in ["localhost:5557", "10.0.0.1:1", "[::1]:5557"] {
            assert_eq!(address(text), Ok(text.to_owned()));
        }
        for text in ["localhost", ":5557", "::1", "host:0", "host:x", "host:70000"] {
            assert!(address(text).is_err(), "{text}");
        }
    }
}
