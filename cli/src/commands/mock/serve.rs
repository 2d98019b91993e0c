//! `mock serve`: a mock server that listens.

use std::{net::SocketAddr, process::ExitCode};

use anyhow::anyhow;
use evidence::Recorder;
use mock_servers::{
    MockServer,
    listen::raise_descriptor_limit,
    mock::{
        HttpTransport,
        control::{Control, ControlError},
    },
    stdio::end_process,
};
use scenarios::model::Transport;
use serde_json::json;

use super::{
    Common,
    listening::{Listening, start_error},
    stdio,
};
use crate::{
    error::{CommandError, CommandResult},
    interrupt::{self, Interrupts},
    print,
    transport::TransportArg,
};

/// Number of recent frames that the control API returns.
const MAX_FRAMES: usize = 10_000;

/// The arguments of `mock serve`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    common: Common,
    /// Transport; Streamable HTTP also over the Unix socket of `--listen unix:<path>`.
    #[arg(long, value_enum, default_value_t = TransportArg(Transport::StreamableHttp))]
    transport: TransportArg,
    #[command(flatten)]
    listening: Listening,
    /// Listen address (loopback) of the HTTP control API of the running server: `GET /faults`, `PUT /faults/<name>` with `{"enabled": true}`, `GET /requests`, `POST /reset`, `GET /health`.
    #[arg(long, value_name = "ADDRESS")]
    control: Option<SocketAddr>,
    /// Print the address as one line of JSON: `{"url", "transport", "pid", "control"}`.
    #[arg(long)]
    json: bool,
}

/// Serves until SIGINT or SIGTERM.
pub(super) fn run(args: Args) -> CommandResult {
    let transport = match args.transport.0 {
        Transport::StreamableHttp => HttpTransport::Http,
        Transport::HttpSse => HttpTransport::Sse,
        Transport::Stdio if args.control.is_some() => {
            return Err(CommandError::input(anyhow!("`--control` needs a transport that listens")));
        }
        Transport::Stdio if args.listening.logs() => {
            return Err(CommandError::input(anyhow!("`--log` needs a transport that listens")));
        }
        Transport::Stdio => return stdio::serve(args.common),
    };
    interrupt::runtime()?.block_on(serve(args, transport))
}

async fn serve(args: Args, transport: HttpTransport) -> CommandResult {
    // Before the address is printed, so that no signal is lost.
    let mut interrupts = Interrupts::watch()?;
    if let Err(cause) = raise_descriptor_limit() {
        tracing::warn!(%cause, "fewer connections than the system could grant");
    }
    let common = &args.common;
    let mut server = MockServer::builder()
        .script(common.script()?)
        .transport(transport)
        .seed(common.seed)
        .calendar()
        .recorder(args.recorder()?)
        .listen(args.listening.options(args.json)?);
    if let Some(revision) = common.revision {
        server = server.revision(revision.to_string());
    }
    let server = server.start().await.map_err(start_error)?;
    let control = match args.control {
        Some(address) => Some(Control::start(address, &server).await.map_err(control_error)?),
        None => None,
    };
    print_addresses(&args, &server.url(), control.as_ref().map(Control::url))?;
    tokio::select! {
        _ = interrupts.next() => {}
        () = server.stopped() => {}
    }
    let exit = server.exit();
    tokio::select! {
        () = server.stop() => Ok(exit.map_or(ExitCode::SUCCESS, |exit| end_process(&exit))),
        signal = interrupts.next() => Err(signal.terminate()),
    }
}

impl Args {
    /// Keeps frames in memory only for the control API.
    fn recorder(&self) -> Result<Recorder, CommandError> {
        let Common { name, record, .. } = &self.common;
        match self.control {
            Some(_) => Recorder::latest(name, MAX_FRAMES, record.as_deref()).map_err(CommandError::environment),
            None => self.common.recorder(),
        }
    }
}

fn control_error(error: ControlError) -> CommandError {
    match error {
        ControlError::Start(cause) => start_error(cause),
        other => CommandError::input(other),
    }
}

/// Prints the addresses of the running server.
fn print_addresses(args: &Args, url: &str, control: Option<String>) -> Result<(), CommandError> {
    let line = if args.json {
        let (transport, pid) = (args.transport.name(), std::process::id());
        json!({ "url": url, "transport": transport, "pid": pid, "control": control }).to_string()
    } else {
        control.map_or_else(|| url.to_owned(), |control| format!("{url}\ncontrol: {control}"))
    };
    print::line(&line)
}
