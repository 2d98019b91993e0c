//! `mock oauth`: an authorization server that listens, with a resource that it protects.

use std::{io::Write as _, path::PathBuf, process::ExitCode};

use clap::ValueEnum;
use mock_servers::{
    MockServer, Recorder,
    mock::Transport,
    oauth::{AuthScript, OAuthMock, OAuthOptions, StartError},
};
use serde_json::json;

use super::{
    listening::{Listening, not_started},
    source::Source,
};
use crate::{
    failure::{CommandResult, Failure},
    interrupt::{self, Interrupts},
};

/// The arguments of `mock oauth`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// What the server does and which lies it tells, as YAML or JSON; absent: a good server that registers anybody.
    script: Option<PathBuf>,
    #[command(flatten)]
    listening: Listening,
    /// The seed of keys, codes and tokens.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Scheme, host and port under which clients reach the server, where that is not what it listens on.
    #[arg(long, value_name = "URL")]
    origin: Option<String>,
    /// A file to append to what each client did, one JSON value a line, without secrets.
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
    /// A file to append every frame to, one JSON value a line, scrubbed.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// A profile or a script to serve, on a port of its own, to clients with a token of this server.
    #[arg(long, value_name = "PROFILE-OR-SCRIPT")]
    protect: Option<Source>,
    /// How messages travel to and from what is protected.
    #[arg(long, value_enum, default_value_t = Wire::Http, requires = "protect")]
    transport: Wire,
    /// Say where the server listens as one line of JSON: `{"issuer", "resource", "pid"}`.
    #[arg(long)]
    json: bool,
}

/// How messages travel where a token is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Wire {
    /// Streamable HTTP.
    Http,
    /// HTTP+SSE, of 2024-11-05.
    Sse,
}

/// Serves until it is told to stop.
pub(super) fn run(args: Args) -> CommandResult {
    interrupt::runtime()?.block_on(serve(args))
}

async fn serve(args: Args) -> CommandResult {
    // Watched for before anybody can know where the server listens, so that no signal is lost.
    let mut interrupts = Interrupts::watch()?;
    let script = script(&args)?;
    let recorder = match &args.record {
        Some(path) => Recorder::to_file("oauth", path).map_err(Failure::environment)?,
        None => Recorder::disabled(),
    };
    let mut options = OAuthOptions::default()
        .with_seed(args.seed)
        .with_listen(args.listening.options()?)
        .with_recorder(recorder.clone());
    options.origin = args.origin.clone();
    options.audit_file = args.audit.clone();
    let mock = OAuthMock::start(script, options).await.map_err(refused)?;
    let protected = match &args.protect {
        Some(source) => {
            let transport = match args.transport {
                Wire::Http => Transport::Http,
                Wire::Sse => Transport::Sse,
            };
            let server = MockServer::builder().script(source.read()?).transport(transport);
            let server = server.seed(args.seed).calendar().recorder(recorder);
            Some(server.start_protected(&mock).await.map_err(not_started)?)
        }
        None => None,
    };
    announce(&args, &mock, protected.as_ref())?;
    interrupts.next().await;
    let stopped = async {
        if let Some(server) = protected {
            server.stop().await;
        }
        mock.stop().await;
    };
    tokio::select! {
        () = stopped => Ok(ExitCode::SUCCESS),
        signal = interrupts.next() => Err(signal.die()),
    }
}

fn script(args: &Args) -> Result<AuthScript, Failure> {
    let Some(path) = &args.script else { return Ok(AuthScript::default()) };
    mock_servers::oauth::script::load(path).map_err(Failure::input)
}

fn refused(error: StartError) -> Failure {
    match error {
        StartError::Listen(cause) => not_started(cause),
        StartError::Record(_) => Failure::environment(error),
        other => Failure::input(other),
    }
}

/// Says where the server listens, once it does.
fn announce(args: &Args, mock: &OAuthMock, protected: Option<&MockServer>) -> Result<(), Failure> {
    let resource = protected.map_or_else(|| mock.protected().to_owned(), MockServer::url);
    let line = if args.json {
        json!({ "issuer": mock.issuer(), "resource": resource, "pid": std::process::id() }).to_string()
    } else {
        format!("{}\nresource: {resource}", mock.issuer())
    };
    writeln!(std::io::stdout(), "{line}").map_err(Failure::environment)
}
