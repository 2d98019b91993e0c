//! `serve`: the workbench for others: as an MCP server over stdio or HTTP, or as the management API.

use std::{
    fs, future::IntoFuture as _, io::Write as _, net::SocketAddr, path::PathBuf, process::ExitCode, sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, anyhow};
use client::auth::{callback::CallbackOptions, store::open_default};
use mock_servers::Period;
use serde_json::json;
use serve::{
    Limits, Settings, Workbench,
    door::{Door, Entrance, ListenError, TOKEN_VARIABLE, Token, listen},
    management::{HEALTH, Management, ManagementSettings, SystemBrowser},
    mcp,
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{
    commands::client::policy::of_this_machine,
    failure::{CommandResult, Failure},
    interrupt,
    run_folder::default_root,
};

/// How long connections may take to end once the server is told to.
const ENDING: Duration = Duration::from_secs(2);

/// The arguments of `serve`. Without any of them an MCP server speaks over standard input and output.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Serve MCP over Streamable HTTP, at this address.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:4717", group = "listening")]
    http: Option<SocketAddr>,
    /// Serve the management API instead, at this address; `/openapi.json` there describes it.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:4718", group = "listening")]
    management: Option<SocketAddr>,
    /// The port of 127.0.0.1 to which browsers come back from a login; 0 lets the system choose.
    #[arg(long, value_name = "PORT", requires = "management", default_value_t = 0)]
    callback_port: u16,
    /// A file that holds the token to let clients in with. Without it the variable MCP_WORKBENCH_SERVE_TOKEN is taken, or
    /// a new one is made and told once.
    #[arg(long, value_name = "FILE", requires = "listening")]
    token_file: Option<PathBuf>,
    /// Let every program of this machine in without a token, to run commands as you. Only on the loopback interface, and not
    /// for the management API.
    #[arg(long, requires = "listening", conflicts_with_all = ["token_file", "management"])]
    no_token: bool,
    /// A name under which the server is reached, beside those of this machine; may be given several times.
    #[arg(long, value_name = "HOST", requires = "listening")]
    allow_host: Vec<String>,
    /// An origin of web pages that may ask (`https://app.example`), beside those of this machine; likewise.
    #[arg(long, value_name = "ORIGIN", requires = "listening")]
    allow_origin: Vec<String>,
    /// Listen on an address that other machines can reach. Whoever has the token runs commands as you.
    #[arg(long, requires = "listening", conflicts_with = "no_token")]
    exposed: bool,
    /// The longest that one run of a tool may take.
    #[arg(long, default_value = "10m")]
    run_limit: Period,
    /// Tell where it listens as JSON on standard output, with a token that was made.
    #[arg(long, requires = "listening")]
    json: bool,
}

/// Serves until it is interrupted, or its client closes standard input.
pub(crate) fn run(args: &Args) -> CommandResult {
    let runtime = interrupt::runtime()?;
    let served = runtime.block_on(async {
        match (args.http, args.management) {
            (Some(address), _) => over_http(args, address).await,
            (None, Some(address)) => manage(args, address).await,
            (None, None) => over_stdio(args).await,
        }
    });
    // A read of standard input that still waits is not waited for.
    runtime.shutdown_background();
    served.map(|()| ExitCode::SUCCESS)
}

fn workbench(args: &Args) -> Result<Workbench, Failure> {
    let program = std::env::current_exe().map_err(Failure::environment)?;
    let limits = Limits { run: args.run_limit.0, ..Limits::default() };
    let policy = Arc::new(of_this_machine());
    Workbench::new(Settings { program, runs: default_root(), limits, policy }).map_err(Failure::fault)
}

async fn over_stdio(args: &Args) -> Result<(), Failure> {
    let workbench = workbench(args)?;
    let over = CancellationToken::new();
    let serving = mcp::serve_stdio(&workbench, over.clone());
    tokio::pin!(serving);
    let served = tokio::select! {
        served = &mut serving => served,
        () = interrupt::asked() => {
            over.cancel();
            serving.await
        }
    };
    workbench.close().await;
    served.map_err(Failure::environment)
}

async fn over_http(args: &Args, address: SocketAddr) -> Result<(), Failure> {
    let workbench = workbench(args)?;
    let over = CancellationToken::new();
    let opened = opened(args, address, mcp::PATH, &[]).await?;
    let router = mcp::router(&workbench, opened.door, over.clone());
    let close = async {
        over.cancel();
        workbench.close().await;
    };
    until_interrupted(opened.listener, router, close).await
}

async fn manage(args: &Args, address: SocketAddr) -> Result<(), Failure> {
    let store = open_default().map_err(Failure::environment)?;
    let callback = CallbackOptions { port: args.callback_port, ..CallbackOptions::default() };
    let (browser, policy) = (Arc::new(SystemBrowser), of_this_machine());
    let management = Management::new(ManagementSettings { store, browser, callback, policy });
    let opened = opened(args, address, "", &[HEALTH]).await?;
    let router = management.router(opened.door);
    until_interrupted(opened.listener, router, management.close()).await
}

/// Serves until it is interrupted, and then ends what is served.
async fn until_interrupted(
    listener: TcpListener,
    router: axum::Router,
    close: impl Future<Output = ()>,
) -> Result<(), Failure> {
    let over = CancellationToken::new();
    let serving = axum::serve(listener, router).with_graceful_shutdown(over.clone().cancelled_owned()).into_future();
    tokio::pin!(serving);
    let ended = tokio::select! {
        ended = &mut serving => Some(ended),
        () = interrupt::asked() => None,
    };
    over.cancel();
    close.await;
    match ended {
        Some(ended) => ended.map_err(Failure::environment),
        None => {
            // A client that holds its connection open is not waited for.
            drop(tokio::time::timeout(ENDING, serving).await);
            Ok(())
        }
    }
}

/// A listener, and the door before it.
struct Opened {
    listener: TcpListener,
    door: Door,
}

/// Listens, and tells where.
async fn opened(args: &Args, address: SocketAddr, path: &str, open_paths: &[&str]) -> Result<Opened, Failure> {
    let (token, made) = token(args)?;
    let listener = listener(address, args).await?;
    let address = listener.local_addr().map_err(Failure::environment)?;
    tell(args, &format!("http://{address}{path}"), made.as_ref())?;
    let entrance = Entrance {
        token,
        hosts: args.allow_host.clone(),
        origins: args.allow_origin.clone(),
        open_paths: open_paths.iter().map(|path| (*path).to_owned()).collect(),
    };
    Ok(Opened { listener, door: Door::from(entrance) })
}

async fn listener(address: SocketAddr, args: &Args) -> Result<TcpListener, Failure> {
    listen(address, args.exposed).await.map_err(|error| match error {
        ListenError::Exposed { .. } if args.no_token => {
            Failure::input(error).advise("without a token only 127.0.0.1 is served")
        }
        ListenError::Exposed { .. } => {
            Failure::input(error).advise("`--exposed` allows it; a tunnel to 127.0.0.1 is safer")
        }
        error => Failure::environment(error),
    })
}

/// The token that lets clients in, and the same if it was made just now.
fn token(args: &Args) -> Result<(Option<Token>, Option<Token>), Failure> {
    if args.no_token {
        return Ok((None, None));
    }
    let chosen = match &args.token_file {
        Some(file) => {
            let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()));
            Some((text.map_err(Failure::input)?, file.display().to_string()))
        }
        None => std::env::var(TOKEN_VARIABLE)
            .ok()
            .filter(|text| !text.is_empty())
            .map(|text| (text, TOKEN_VARIABLE.to_owned())),
    };
    if let Some((text, place)) = chosen {
        let token = Token::chosen(&text).map_err(|error| Failure::input(anyhow!("{place}: {error}")))?;
        return Ok((Some(token), None));
    }
    let token = Token::fresh().map_err(Failure::environment)?;
    Ok((Some(token.clone()), Some(token)))
}

/// Says where it listens, and the token if nobody knows it yet.
fn tell(args: &Args, url: &str, made: Option<&Token>) -> Result<(), Failure> {
    if args.json {
        let line = json!({ "url": url, "token": made.map(Token::expose) });
        return writeln!(std::io::stdout(), "{line}").map_err(Failure::environment);
    }
    let mut words = format!("listening on {url}\n");
    match made {
        Some(token) => words.push_str(&format!(
            "send `Authorization: Bearer {}`; whoever has it runs commands as you\n",
            token.expose()
        )),
        None if args.no_token => words.push_str("every program of this machine may run commands as you\n"),
        None => {}
    }
    std::io::stderr().write_all(words.as_bytes()).map_err(Failure::environment)
}
