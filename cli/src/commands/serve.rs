//! `serve`: the workbench as an MCP server over stdio or HTTP, or as the management API.

use std::{
    fs,
    future::IntoFuture as _,
    io::Write as _,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use agent::host::HostOptions;
use anyhow::{Context as _, anyhow};
use client::{HostSupport, auth::store::open_default};
use mock_servers::HumanDuration;
use serde_json::json;
use serve::{
    Limits, Settings, Workbench,
    access::{AccessControl, AccessPolicy, ListenError, TOKEN_VARIABLE, Token, listen},
    management::{HEALTH, Management, ManagementError, ManagementSettings, SystemBrowser},
    mcp,
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{
    commands::client::{config, error::ClientCommandError, host, policy::machine_policy},
    error::{CommandError, CommandResult},
    interrupt, print,
    run::runs_directory,
};

/// Grace period of open connections after a stop.
const GRACE_PERIOD: Duration = Duration::from_secs(2);

/// The arguments of `serve`. The default is an MCP server over stdio.
#[derive(Debug, clap::Args)]
#[command(mut_arg("config", |config| config.requires("management")))]
pub(crate) struct Args {
    /// Serve MCP over Streamable HTTP at this address.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:4717", group = "listening")]
    http: Option<SocketAddr>,
    /// Serve the management API at this address; `/openapi.json` describes it.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:4718", group = "listening")]
    management: Option<SocketAddr>,
    /// Port of the login redirect URL on 127.0.0.1; 0: any free port.
    #[arg(long, value_name = "PORT", requires = "management", default_value_t = 0)]
    callback_port: u16,
    /// Requests of servers that programs of the API answer with `POST /requests/{id}`; repeatable or separated by commas.
    /// No others are declared to servers.
    #[arg(long, value_name = "KIND", requires = "management", value_enum, value_delimiter = ',')]
    answer: Vec<Answered>,
    #[command(flatten)]
    files: config::Files,
    /// File with the access token. Without it, MCP_WORKBENCH_SERVE_TOKEN is used; otherwise a new token is generated and
    /// printed once.
    #[arg(long, value_name = "FILE", requires = "listening")]
    token_file: Option<PathBuf>,
    /// Disable authentication. Any local process can run commands as you. Loopback only, not for the management API.
    #[arg(long, requires = "listening", conflicts_with_all = ["token_file", "management"])]
    no_token: bool,
    /// Additional allowed host name; repeatable.
    #[arg(long, value_name = "HOST", requires = "listening")]
    allow_host: Vec<String>,
    /// Additional allowed origin of web pages (`https://app.example`); repeatable.
    #[arg(long, value_name = "ORIGIN", requires = "listening")]
    allow_origin: Vec<String>,
    /// Allow an address that other machines can reach. Anyone with the token can run commands as you.
    #[arg(long, requires = "listening", conflicts_with = "no_token")]
    exposed: bool,
    /// Timeout of one tool run.
    #[arg(long, default_value = "10m")]
    run_limit: HumanDuration,
    /// Print the address and a generated token as JSON.
    #[arg(long, requires = "listening")]
    json: bool,
}

/// Serves until it is interrupted, or its client closes standard input.
/// A request of a server that programs of the API answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Answered {
    /// Elicitation in form mode.
    Form,
    /// Elicitation in URL mode.
    Url,
    /// Sampling, without tools.
    Sampling,
}

pub(crate) fn run(args: &Args) -> CommandResult {
    let runtime = interrupt::runtime()?;
    let served = runtime.block_on(async {
        match (args.http, args.management) {
            (Some(address), _) => over_http(args, address).await,
            (None, Some(address)) => manage(args, address).await,
            (None, None) => over_stdio(args).await,
        }
    });
    // A blocked read of standard input must not delay the exit.
    runtime.shutdown_background();
    served.map(|()| ExitCode::SUCCESS)
}

/// A workbench with this timeout of a run and this directory of all runs.
pub(super) fn workbench(run_limit: HumanDuration, runs: PathBuf) -> Result<Workbench, CommandError> {
    let program = std::env::current_exe().map_err(CommandError::environment)?;
    let limits = Limits { run: run_limit.0, ..Limits::default() };
    let policy = Arc::new(machine_policy());
    Workbench::new(Settings { program, runs, limits, policy }).map_err(CommandError::internal)
}

async fn over_stdio(args: &Args) -> Result<(), CommandError> {
    let workbench = workbench(args.run_limit, runs_directory())?;
    let stop = CancellationToken::new();
    let serving = mcp::serve_stdio(&workbench, stop.clone());
    tokio::pin!(serving);
    let served = tokio::select! {
        served = &mut serving => served,
        () = interrupt::requested() => {
            stop.cancel();
            serving.await
        }
    };
    workbench.close().await;
    served.map_err(CommandError::environment)
}

async fn over_http(args: &Args, address: SocketAddr) -> Result<(), CommandError> {
    let workbench = workbench(args.run_limit, runs_directory())?;
    let stop = CancellationToken::new();
    let opened = protected_listener(args, address, mcp::PATH, &[]).await?;
    let router = mcp::router(&workbench, opened.access, stop.clone());
    let close = async {
        stop.cancel();
        workbench.close().await;
    };
    until_interrupted(opened.listener, router, close).await
}

async fn manage(args: &Args, address: SocketAddr) -> Result<(), CommandError> {
    let workbench = workbench(args.run_limit, runs_directory())?;
    let answers = |kind| args.answer.contains(&kind);
    let support = HostSupport {
        forms: answers(Answered::Form),
        urls: answers(Answered::Url),
        sampling: answers(Answered::Sampling),
        ..HostSupport::NONE
    };
    let management = management(&args.files, args.callback_port, support, workbench).await?;
    let opened = protected_listener(args, address, "", &[HEALTH]).await?;
    let router = management.router(opened.access);
    until_interrupted(opened.listener, router, management.close()).await
}

/// Starts the management API with the configured servers. Its programs answer the requests of servers in `support`.
pub(super) async fn management(
    files: &config::Files,
    callback_port: u16,
    support: HostSupport,
    workbench: Workbench,
) -> Result<Management, CommandError> {
    let settings = config::settings()?;
    let configuration = files.load().map_err(ClientCommandError::into_inner)?;
    configuration.all_problems().for_each(|problem| print::note(&problem.to_string()));
    let management = Management::start(ManagementSettings {
        configuration,
        host: HostOptions { support, ..host::options(&settings) },
        settings,
        variables: Arc::new(config::variable),
        policy: machine_policy(),
        store: open_default().map_err(CommandError::environment)?,
        browser: Arc::new(SystemBrowser),
        callback_port: (callback_port != 0).then_some(callback_port),
        workbench,
    });
    management.await.map_err(|error| match error {
        ManagementError::Rules(_) => CommandError::input(error),
        ManagementError::Start(_) => CommandError::environment(error),
    })
}

/// Serves until it is interrupted, and then runs `close`.
pub(super) async fn until_interrupted(
    listener: TcpListener,
    router: axum::Router,
    close: impl Future<Output = ()>,
) -> Result<(), CommandError> {
    let stop = CancellationToken::new();
    let serving = axum::serve(listener, router).with_graceful_shutdown(stop.clone().cancelled_owned()).into_future();
    tokio::pin!(serving);
    let result = tokio::select! {
        result = &mut serving => Some(result),
        () = interrupt::requested() => None,
    };
    stop.cancel();
    close.await;
    match result {
        Some(result) => result.map_err(CommandError::environment),
        None => {
            // A client may keep its connection open forever.
            drop(tokio::time::timeout(GRACE_PERIOD, serving).await);
            Ok(())
        }
    }
}

/// A listener and its access control.
struct ProtectedListener {
    listener: TcpListener,
    access: AccessControl,
}

/// Listens, and prints the address.
async fn protected_listener(
    args: &Args,
    address: SocketAddr,
    path: &str,
    open_paths: &[&str],
) -> Result<ProtectedListener, CommandError> {
    let (token, generated) = token(args)?;
    let listener = listener(address, args).await?;
    let address = listener.local_addr().map_err(CommandError::environment)?;
    print_address(args, &format!("http://{address}{path}"), generated.as_ref())?;
    let policy = AccessPolicy {
        token,
        hosts: args.allow_host.clone(),
        origins: args.allow_origin.clone(),
        open_paths: open_paths.iter().map(|path| (*path).to_owned()).collect(),
    };
    Ok(ProtectedListener { listener, access: AccessControl::from(policy) })
}

async fn listener(address: SocketAddr, args: &Args) -> Result<TcpListener, CommandError> {
    listen(address, args.exposed).await.map_err(|error| match error {
        ListenError::Exposed { .. } if args.no_token => {
            CommandError::input(error).with_help("without a token only 127.0.0.1 is served")
        }
        ListenError::Exposed { .. } => {
            CommandError::input(error).with_help("`--exposed` allows it; a tunnel to 127.0.0.1 is safer")
        }
        error => CommandError::environment(error),
    })
}

/// The access token, and the same if it was generated.
fn token(args: &Args) -> Result<(Option<Token>, Option<Token>), CommandError> {
    if args.no_token {
        return Ok((None, None));
    }
    if let Some(token) = chosen_token(args.token_file.as_deref())? {
        return Ok((Some(token), None));
    }
    let token = Token::generate().map_err(CommandError::environment)?;
    Ok((Some(token.clone()), Some(token)))
}

/// The token of the file, or of the environment.
pub(super) fn chosen_token(file: Option<&Path>) -> Result<Option<Token>, CommandError> {
    let chosen = match file {
        Some(file) => {
            let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()));
            Some((text.map_err(CommandError::input)?, file.display().to_string()))
        }
        None => std::env::var(TOKEN_VARIABLE)
            .ok()
            .filter(|text| !text.is_empty())
            .map(|text| (text, TOKEN_VARIABLE.to_owned())),
    };
    let parse = |(text, source): (String, String)| {
        Token::parse(&text).map_err(|error| CommandError::input(anyhow!("{source}: {error}")))
    };
    chosen.map(parse).transpose()
}

/// Prints the address, and a generated token.
fn print_address(args: &Args, url: &str, generated: Option<&Token>) -> Result<(), CommandError> {
    if args.json {
        let line = json!({ "url": url, "token": generated.map(Token::expose) });
        return print::line(&line.to_string());
    }
    let mut text = format!("listening on {url}\n");
    match generated {
        Some(token) => text.push_str(&format!(
            "send `Authorization: Bearer {}`; anyone who has it can run commands as you\n",
            token.expose()
        )),
        None if args.no_token => text.push_str("any local process can run commands as you\n"),
        None => {}
    }
    std::io::stderr().write_all(text.as_bytes()).map_err(CommandError::environment)
}
