//! `mock oauth`: a mock authorization server, with a protected resource.

use std::{path::PathBuf, process::ExitCode};

use anyhow::anyhow;
use evidence::Recorder;
use mock_servers::{
    MockServer,
    mock::HttpTransport,
    oauth::{AuthScript, OAuthMock, OAuthOptions, StartError},
};
use scenarios::model::Transport;
use serde_json::json;

use super::{
    listening::{Listening, start_error},
    source::Source,
};
use crate::{
    completion,
    error::{CommandError, CommandResult},
    interrupt::{self, Interrupts},
    print,
    transport::TransportArg,
};

/// The arguments of `mock oauth`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Script (YAML or JSON) with behavior and faults [default: conforming server, open registration]
    script: Option<PathBuf>,
    #[command(flatten)]
    listening: Listening,
    /// Random seed of keys, codes and tokens.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Public origin (scheme, host and port) of the server [default: the listen address].
    #[arg(long, value_name = "URL")]
    origin: Option<String>,
    /// Append the actions of each client to this file, as JSON Lines without secrets.
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
    /// Append every frame to this file, as JSON Lines without secrets.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Also serve this profile or script, on its own port, to clients that have a token of this server.
    #[arg(long, value_name = "PROFILE-OR-SCRIPT", add = completion::profiles_and_paths())]
    protect: Option<Source>,
    /// Transport of the protected server; not stdio.
    #[arg(long, value_enum, default_value_t = TransportArg(Transport::StreamableHttp), requires = "protect")]
    transport: TransportArg,
    /// Print the addresses as one line of JSON: `{"issuer", "resource", "pid"}`.
    #[arg(long)]
    json: bool,
}

/// Serves until SIGINT or SIGTERM.
pub(super) fn run(args: Args) -> CommandResult {
    interrupt::runtime()?.block_on(serve(args))
}

async fn serve(args: Args) -> CommandResult {
    // Before the address is printed, so that no signal is lost.
    let mut interrupts = Interrupts::watch()?;
    let script = script(&args)?;
    let recorder = match &args.record {
        Some(path) => Recorder::to_file("oauth", path).map_err(CommandError::environment)?,
        None => Recorder::disabled(),
    };
    let mut options = OAuthOptions::default()
        .with_seed(args.seed)
        .with_listen(args.listening.options(args.json)?)
        .with_recorder(recorder.clone());
    options.origin = args.origin.clone();
    options.audit_file = args.audit.clone();
    let mock = OAuthMock::start(script, options).await.map_err(oauth_start_error)?;
    let protected = match &args.protect {
        Some(source) => {
            let transport = match args.transport.0 {
                Transport::StreamableHttp => HttpTransport::Http,
                Transport::HttpSse => HttpTransport::Sse,
                Transport::Stdio => {
                    return Err(CommandError::input(anyhow!("`--protect` needs an HTTP transport, not stdio")));
                }
            };
            let server = MockServer::builder().script(source.read()?).transport(transport);
            let server = server.seed(args.seed).calendar().recorder(recorder);
            let server = server.listen(args.listening.logged(args.json));
            Some(server.start_protected(&mock).await.map_err(start_error)?)
        }
        None => None,
    };
    print_addresses(&args, &mock, protected.as_ref())?;
    interrupts.next().await;
    let stopped = async {
        if let Some(server) = protected {
            server.stop().await;
        }
        mock.stop().await;
    };
    tokio::select! {
        () = stopped => Ok(ExitCode::SUCCESS),
        signal = interrupts.next() => Err(signal.terminate()),
    }
}

fn script(args: &Args) -> Result<AuthScript, CommandError> {
    let Some(path) = &args.script else { return Ok(AuthScript::default()) };
    mock_servers::oauth::script::load(path).map_err(CommandError::input)
}

fn oauth_start_error(error: StartError) -> CommandError {
    match error {
        StartError::Listen(cause) => start_error(cause),
        StartError::Record(_) => CommandError::environment(error),
        other => CommandError::input(other),
    }
}

/// Prints the addresses of the running server.
fn print_addresses(args: &Args, mock: &OAuthMock, protected: Option<&MockServer>) -> Result<(), CommandError> {
    let resource = protected.map_or_else(|| mock.protected().to_owned(), MockServer::url);
    let line = if args.json {
        json!({ "issuer": mock.issuer(), "resource": resource, "pid": std::process::id() }).to_string()
    } else {
        format!("{}\nresource: {resource}", mock.issuer())
    };
    print::line(&line)
}
