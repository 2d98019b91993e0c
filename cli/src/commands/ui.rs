//! `ui`: a local page over the management API.

use std::{io::Write as _, net::SocketAddr, path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use client::HostSupport;
use mock_servers::HumanDuration;
use serde_json::json;
use serve::{
    access::{AccessControl, AccessPolicy, ListenError, Token, listen},
    management::{OpenPage as _, SystemBrowser},
    ui,
};
use url::{Url, form_urlencoded};

use super::{
    client::config::Files,
    serve::{chosen_token, management, until_interrupted, workbench},
};
use crate::{
    error::{CommandError, CommandResult},
    interrupt, print,
    run::runs_directory,
};

/// The arguments of `ui`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Loopback address of the page; port 0: any free port.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4719")]
    address: SocketAddr,
    /// Open the page in the browser of the system.
    #[arg(long)]
    open: bool,
    #[command(flatten)]
    files: Files,
    /// Directory of earlier and new runs [default: MCP_WORKBENCH_RUNS, or the directory of all runs].
    #[arg(long, value_name = "DIR")]
    runs: Option<PathBuf>,
    /// Port of the login redirect URL on 127.0.0.1; 0: any free port.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    callback_port: u16,
    /// File with the access token. Without it, MCP_WORKBENCH_SERVE_TOKEN is used; otherwise a new token is generated.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Timeout of one run.
    #[arg(long, default_value = "10m")]
    run_limit: HumanDuration,
    /// Print the URL and the token as JSON.
    #[arg(long)]
    json: bool,
}

/// Serves the page until it is interrupted.
pub(crate) fn run(args: &Args) -> CommandResult {
    let runtime = interrupt::runtime()?;
    let served = runtime.block_on(serve(args));
    runtime.shutdown_background();
    served.map(|()| ExitCode::SUCCESS)
}

async fn serve(args: &Args) -> Result<(), CommandError> {
    let token = match chosen_token(args.token_file.as_deref())? {
        Some(token) => token,
        None => Token::generate().map_err(CommandError::environment)?,
    };
    let listener = listen(args.address, false).await.map_err(|error| match error {
        ListenError::Exposed { .. } => CommandError::input(error).with_help("use a tunnel to 127.0.0.1"),
        error => CommandError::environment(error).with_help("choose another port with `--address 127.0.0.1:0`"),
    })?;
    let address = listener.local_addr().map_err(CommandError::environment)?;
    let workbench = workbench(args.run_limit, args.runs.clone().unwrap_or_else(runs_directory))?;
    // What the page shows.
    let support = HostSupport { forms: true, urls: true, ..HostSupport::NONE };
    let management = management(&args.files, args.callback_port, support, workbench).await?;
    let url = page_url(address, &token)?;
    print_url(args, &url, &token)?;
    if args.open
        && let Err(error) = SystemBrowser.open(&url).await
    {
        print::note(&error.to_string());
    }
    let open_paths = ui::OPEN_PATHS.map(str::to_owned).to_vec();
    let access = AccessControl::from(AccessPolicy { token: Some(token), open_paths, ..AccessPolicy::default() });
    let router = ui::router(&management, access);
    until_interrupted(listener, router, management.close()).await
}

/// The URL of the page, with the token in its fragment.
fn page_url(address: SocketAddr, token: &Token) -> Result<Url, CommandError> {
    let mut url = Url::parse(&format!("http://{address}/")).context("the address is not part of a URL");
    if let Ok(url) = &mut url {
        let encoded: String = form_urlencoded::byte_serialize(token.expose().as_bytes()).collect();
        url.set_fragment(Some(&format!("token={encoded}")));
    }
    url.map_err(CommandError::internal)
}

fn print_url(args: &Args, url: &Url, token: &Token) -> Result<(), CommandError> {
    if args.json {
        let mut base = url.clone();
        base.set_fragment(None);
        let base = base.as_str().trim_end_matches('/');
        return print::line(&json!({ "url": base, "token": token.expose(), "page": url.as_str() }).to_string());
    }
    let text = format!("open {url}\nanyone who has this URL can run commands as you; Ctrl-C stops the page\n");
    std::io::stderr().write_all(text.as_bytes()).map_err(CommandError::environment)
}
