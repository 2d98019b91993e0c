//! `mock serve`: a server that listens.

use std::{io::Write as _, net::SocketAddr, process::ExitCode};

use anyhow::anyhow;
use clap::ValueEnum;
use mock_servers::{
    MockServer, Recorder,
    listen::raise_descriptor_limit,
    mock::{
        Transport,
        control::{Control, ControlError},
    },
    stdio::end_process,
};
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

/// How many frames are kept to be asked for.
const KEPT: usize = 10_000;

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
    /// Let a running server be told what to do over HTTP at this loopback address: `GET /faults`,
    /// `PUT /faults/<name>` with `{"enabled": true}`, `GET /requests`, `POST /reset`, `GET /health`.
    #[arg(long, value_name = "ADDRESS")]
    control: Option<SocketAddr>,
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
        Wire::Stdio if args.control.is_some() => {
            return Err(Failure::input(anyhow!("`--control` needs a transport that listens")));
        }
        Wire::Stdio => return stdio::serve(args.common),
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
    let mut server = MockServer::builder()
        .script(common.source.read()?)
        .transport(transport)
        .seed(common.seed)
        .calendar()
        .recorder(args.recorder()?)
        .listen(args.listening.options()?);
    if let Some(revision) = common.revision {
        server = server.revision(revision.to_string());
    }
    let server = server.start().await.map_err(not_started)?;
    let control = match args.control {
        Some(address) => Some(Control::start(address, &server).await.map_err(not_controlled)?),
        None => None,
    };
    announce(&args, &server.url(), control.as_ref().map(Control::url))?;
    tokio::select! {
        _ = interrupts.next() => {}
        () = server.stopped() => {}
    }
    let exit = server.exit();
    tokio::select! {
        () = server.stop() => Ok(exit.map_or(ExitCode::SUCCESS, |exit| end_process(&exit))),
        signal = interrupts.next() => Err(signal.die()),
    }
}

impl Args {
    /// Whoever controls a server can ask what came, so that is kept; otherwise nothing is, and memory stays as it is.
    fn recorder(&self) -> Result<Recorder, Failure> {
        let Common { name, record, .. } = &self.common;
        match self.control {
            Some(_) => Recorder::latest(name, KEPT, record.as_deref()).map_err(Failure::environment),
            None => self.common.recorder(),
        }
    }
}

fn not_controlled(error: ControlError) -> Failure {
    match error {
        ControlError::Start(cause) => not_started(cause),
        other => Failure::input(other),
    }
}

/// Says where the server listens, once it does.
fn announce(args: &Args, url: &str, control: Option<String>) -> Result<(), Failure> {
    let line = if args.json {
        let (transport, pid) = (args.transport.name(), std::process::id());
        json!({ "url": url, "transport": transport, "pid": pid, "control": control }).to_string()
    } else {
        control.map_or_else(|| url.to_owned(), |control| format!("{url}\ncontrol: {control}"))
    };
    writeln!(std::io::stdout(), "{line}").map_err(Failure::environment)
}
