//! `mock serve`: a server that listens.

use std::{io::Write as _, process::ExitCode};

use anyhow::anyhow;
use clap::ValueEnum;
use mock_servers::{MockServer, listen::raise_descriptor_limit, mock::Transport};
use serde_json::json;

use super::{
    Common,
    listening::{Listening, not_started},
    stdio,
};
use crate::{
    failure::{CommandResult, Failure},
    interrupt::{self, Interrupts},
};

/// The arguments of `mock serve`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    common: Common,
    /// How messages travel.
    #[arg(long, value_enum, default_value_t = Wire::Http)]
    transport: Wire,
    #[command(flatten)]
    listening: Listening,
    /// Say where the server listens as one line of JSON: `{"url", "transport", "pid", "control"}`.
    #[arg(long)]
    json: bool,
}

/// How messages travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Wire {
    /// Streamable HTTP.
    Http,
    /// HTTP+SSE, of 2024-11-05.
    Sse,
    /// Standard input and output.
    Stdio,
    /// Streamable HTTP over the Unix socket of `--listen unix:<path>`.
    Unix,
}

impl Wire {
    fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Sse => "sse",
            Self::Stdio => "stdio",
            Self::Unix => "unix",
        }
    }
}

/// Serves until it is told to stop.
pub(super) fn run(args: Args) -> CommandResult {
    let transport = match args.transport {
        Wire::Http => Transport::Http,
        Wire::Sse => Transport::Sse,
        Wire::Unix if !args.listening.is_unix() => {
            return Err(Failure::input(anyhow!("`--transport unix` needs `--listen unix:/path/of/the/socket`")));
        }
        Wire::Unix => Transport::Http,
        Wire::Stdio => return stdio::run(stdio::Args { common: args.common, runs: None }),
    };
    interrupt::runtime()?.block_on(serve(args, transport))
}

async fn serve(args: Args, transport: Transport) -> CommandResult {
    // Watched for before anybody can know where the server listens, so that no signal is lost.
    let mut interrupts = Interrupts::watch()?;
    if let Err(cause) = raise_descriptor_limit() {
        tracing::warn!(%cause, "fewer connections than the system could grant");
    }
    let common = &args.common;
    let server = MockServer::builder()
        .script(common.source.read()?)
        .transport(transport)
        .revision(common.revision.to_string())
        .seed(common.seed)
        .recorder(common.recorder()?)
        .listen(args.listening.options()?);
    let server = server.start().await.map_err(not_started)?;
    announce(&args, &server.url())?;
    tokio::select! {
        _ = interrupts.next() => {}
        () = server.stopped() => {}
    }
    tokio::select! {
        () = server.stop() => Ok(ExitCode::SUCCESS),
        signal = interrupts.next() => Err(signal.die()),
    }
}

/// Says where the server listens, once it does.
fn announce(args: &Args, url: &str) -> Result<(), Failure> {
    let line = if args.json {
        json!({ "url": url, "transport": args.transport.name(), "pid": std::process::id(), "control": null })
            .to_string()
    } else {
        url.to_owned()
    };
    writeln!(std::io::stdout(), "{line}").map_err(Failure::environment)
}
