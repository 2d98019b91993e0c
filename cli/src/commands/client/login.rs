//! `client login`: the user logs in in a browser, or pastes the redirect URL.

use std::{process::ExitCode, sync::Arc, time::Duration};

use client::auth::{
    AuthSettings, Authorize as _, Authorizer, BrowserError, ConfiguredClient, LoginUi, LoopbackBrowser,
    callback::{self, CallbackOptions, InvalidCallback},
    credentials::{CredentialKey, Credentials},
    store::CredentialStore,
};
use futures::future::BoxFuture;
use reqwest::Method;
use serde_json::json;
use tokio::{sync::Mutex, time::timeout};
use url::Url;

use super::{
    access,
    config::{self, Files},
    error::{ClientCommandError, settle},
    lines::StdinLines,
};
use crate::{
    error::{CommandError, CommandResult},
    interrupt::{self, Interrupts},
    print::{self, note},
};

/// Timeout of the command that opens a browser; a browser in the terminal does not return.
const OPEN_TIMEOUT: Duration = Duration::from_secs(5);

/// The arguments of `client login`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    target: config::LoginServerArgs,
    /// Do not open a browser: print the URL, and read the redirect URL from stdin.
    #[arg(long)]
    no_browser: bool,
    /// Port of the redirect URL on 127.0.0.1 [default: any free port].
    #[arg(long)]
    port: Option<u16>,
    /// Path of the redirect URL [default: /callback].
    #[arg(long)]
    path: Option<String>,
    /// Scope to request; repeatable. Scopes that the server requires take precedence.
    #[arg(long, value_name = "SCOPE")]
    scope: Vec<String>,
    /// ID of a registered client. Its secret is read from MCP_WORKBENCH_CLIENT_SECRET.
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
}

/// Logs in.
pub(crate) fn run(args: &Args) -> CommandResult {
    until_interrupted(async { settle(log_in(args).await, args.target.json) })
}

/// The headers that authorize requests to a server, by URL or by its name in the configuration: with its stored login, or
/// after a new one.
pub(crate) fn authorization_headers(files: &Files, server: &str) -> Result<Vec<(String, String)>, CommandError> {
    until_interrupted(async { stored_or_new(files, server).await.map_err(ClientCommandError::into_inner) })
}

fn until_interrupted<T>(work: impl Future<Output = Result<T, CommandError>>) -> Result<T, CommandError> {
    let runtime = interrupt::runtime()?;
    let done = runtime.block_on(async {
        let mut interrupts = Interrupts::watch()?;
        tokio::select! {
            interrupt = interrupts.next() => Err(interrupt.terminate()),
            done = work => done,
        }
    });
    // A browser in the terminal may still be running.
    runtime.shutdown_background();
    done
}

async fn stored_or_new(files: &Files, server: &str) -> Result<Vec<(String, String)>, ClientCommandError> {
    let (url, settings, options) = configured(files, server)?;
    let authorizer = authorizer(&url, settings, options, access::store()?, true);
    let mut headers = authorizer.headers(&Method::POST, &url).await?;
    if headers.is_empty() {
        authorizer.login().await?;
        headers = authorizer.headers(&Method::POST, &url).await?;
    }
    serve::login_headers(&headers).map_err(|error| {
        ClientCommandError::input("dpop", error.into()).with_help("log in with a client that gets bearer tokens")
    })
}

/// The authorizer of a server for the user at the terminal.
fn authorizer(
    url: &Url,
    settings: AuthSettings,
    options: CallbackOptions,
    store: Arc<dyn CredentialStore>,
    opens: bool,
) -> Authorizer {
    let user = TerminalUser { opens, lines: Mutex::default() };
    let browser = LoopbackBrowser::with_ui(options, Arc::new(user));
    access::authorizer(url, CredentialKey::from_url(url), settings, store, Some(Arc::new(browser)))
}

/// URL and settings of the login of a server, by URL or by its name in the configuration.
fn configured(files: &Files, server: &str) -> Result<(Url, AuthSettings, CallbackOptions), ClientCommandError> {
    let Some(url) = config::url(server) else { return config::login(files, server) };
    let port = config::settings()?.callback_port.unwrap_or_default();
    Ok((url, AuthSettings::default(), CallbackOptions { port, ..CallbackOptions::default() }))
}

/// URL and settings of the login; the command line overrides the configuration.
fn settings(args: &Args) -> Result<(Url, AuthSettings, CallbackOptions), ClientCommandError> {
    let (url, mut settings, mut options) = configured(&args.target.files, &args.target.server)?;
    if let Some(id) = &args.client_id {
        let secret = config::settings()?.client_secret;
        settings.client = Some(ConfiguredClient { secret, ..ConfiguredClient::new(id) });
    }
    if !args.scope.is_empty() {
        settings.scopes = Some(args.scope.clone());
    }
    options.port = args.port.unwrap_or(options.port);
    if let Some(path) = &args.path {
        options.path.clone_from(path);
    }
    Ok((url, settings, options))
}

async fn log_in(args: &Args) -> Result<ExitCode, ClientCommandError> {
    let (url, settings, options) = settings(args)?;
    let store = access::store()?;
    let authorizer = authorizer(&url, settings, options, store.clone(), !args.no_browser);
    let credentials = authorizer.login().await?;
    print_login(args, &url, &credentials, &store.describe())?;
    Ok(ExitCode::SUCCESS)
}

fn print_login(args: &Args, url: &Url, credentials: &Credentials, store: &str) -> Result<(), CommandError> {
    if args.target.json {
        return print::json(&json!({
            "url": url.as_str(),
            "issuer": credentials.issuer,
            "clientId": credentials.client.id,
            "scopes": credentials.scopes,
            "expiresAt": credentials.expires_at,
            "renewable": credentials.refresh_token.is_some(),
            "store": store,
        }));
    }
    let scopes = &credentials.scopes;
    let scopes = if scopes.is_empty() { "no scopes".to_owned() } else { scopes.join(" ") };
    print::text(&format!("logged in to {url} ({scopes})"))?;
    print::text(&format!("  issued by {}, stored in {store}", credentials.issuer))
}

/// The user at the terminal. Stdout contains only the result.
#[derive(Debug)]
struct TerminalUser {
    opens: bool,
    /// Opened when the first line is read.
    lines: Mutex<Option<StdinLines>>,
}

impl LoginUi for TerminalUser {
    fn open_page<'a>(&'a self, page: &'a Url) -> BoxFuture<'a, Result<(), BrowserError>> {
        Box::pin(async move {
            let opened = self.opens && matches!(timeout(OPEN_TIMEOUT, callback::open(page)).await, Ok(Ok(())));
            note(if opened { "opened a browser to log in; otherwise visit" } else { "to log in, visit" });
            note(&format!("\n  {page}\n"));
            note("if the browser cannot reach this machine, paste the URL that it was redirected to");
            Ok(())
        })
    }

    fn pasted_url(&self) -> BoxFuture<'_, String> {
        Box::pin(async {
            loop {
                match self.lines.lock().await.get_or_insert_with(StdinLines::new).next().await {
                    Some(line) if line.trim().is_empty() => {}
                    Some(line) => return line,
                    None => std::future::pending().await,
                }
            }
        })
    }

    fn on_invalid_callback(&self, invalid: InvalidCallback) {
        note(&format!("{invalid}: paste the complete URL that the browser shows"));
    }
}
