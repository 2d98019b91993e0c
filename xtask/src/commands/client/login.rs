//! `client login`: a person logs in at a server, in their browser or by pasting the address at which it ended.

use std::{process::ExitCode, sync::Arc, time::Duration};

use client::auth::{
    AuthSettings, BrowserError, ConfiguredClient, LoopbackBrowser, Person,
    callback::{self, CallbackOptions, Refused},
    credentials::{CredentialKey, Credentials},
};
use futures::future::BoxFuture;
use serde_json::json;
use tokio::{sync::Mutex, time::timeout};
use url::Url;

use super::{
    access, config,
    lines::Lines,
    say::{self, aside},
    trouble::{Trouble, settle},
};
use crate::{
    failure::{CommandResult, Failure},
    interrupt::{self, Interrupts},
};

/// How long the start of a browser is waited for: one that runs in a terminal does not come back.
const START: Duration = Duration::from_secs(5);

/// The arguments of `client login`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The URL of the server, or its name in the configuration, which may say more about logging in.
    #[arg(value_name = "URL|NAME")]
    server: String,
    #[command(flatten)]
    files: config::Files,
    /// Open no browser: show the address, and take what is pasted.
    #[arg(long)]
    no_browser: bool,
    /// The port on 127.0.0.1 to which the browser comes back; 0, as without it, lets the system choose.
    #[arg(long)]
    port: Option<u16>,
    /// The path to which the browser comes back; `/callback` without it.
    #[arg(long)]
    path: Option<String>,
    /// A scope to ask for; may be given several times. What the server says that it needs comes before.
    #[arg(long, value_name = "SCOPE")]
    scope: Vec<String>,
    /// The ID of a client that is registered already. Its secret, where it has one, is read from
    /// MCP_WORKBENCH_CLIENT_SECRET.
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// Print JSON, failures included.
    #[arg(long)]
    json: bool,
}

/// Logs in.
pub(crate) fn run(args: &Args) -> CommandResult {
    let runtime = interrupt::runtime()?;
    let done = runtime.block_on(async {
        let mut interrupts = Interrupts::watch()?;
        tokio::select! {
            interrupt = interrupts.next() => Err(interrupt.die()),
            done = log_in(args) => settle(done, args.json),
        }
    });
    // A browser that runs in a terminal may still be waited for.
    runtime.shutdown_background();
    done
}

/// Where to log in, and how: what the command line says comes before the configuration.
fn wanted(args: &Args) -> Result<(Url, AuthSettings, CallbackOptions), Trouble> {
    let environment = config::settings()?;
    let (url, mut settings, mut options) = match config::url(&args.server) {
        Some(url) => {
            let port = environment.callback_port.unwrap_or_default();
            (url, AuthSettings::default(), CallbackOptions { port, ..CallbackOptions::default() })
        }
        None => config::login(&args.files, &args.server)?,
    };
    if let Some(id) = &args.client_id {
        settings.client = Some(ConfiguredClient { secret: environment.client_secret, ..ConfiguredClient::new(id) });
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

async fn log_in(args: &Args) -> Result<ExitCode, Trouble> {
    let (url, settings, options) = wanted(args)?;
    let store = access::store()?;
    let person = AtTerminal { opens: !args.no_browser, lines: Mutex::default() };
    let browser = LoopbackBrowser::of(options, Arc::new(person));
    let authorizer =
        access::authorizer(&url, CredentialKey::of_url(&url), settings, store.clone(), Some(Arc::new(browser)))?;
    let credentials = authorizer.login().await?;
    tell(args, &url, &credentials, &store.describe())?;
    Ok(ExitCode::SUCCESS)
}

fn tell(args: &Args, url: &Url, credentials: &Credentials, store: &str) -> Result<(), Failure> {
    if args.json {
        return say::json(&json!({
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
    let scopes = if scopes.is_empty() { "no scopes named".to_owned() } else { scopes.join(" ") };
    say::text(&format!("logged in at {url} ({scopes})"))?;
    say::text(&format!("  granted by {}, kept in {store}", credentials.issuer))
}

/// The person at the terminal. What they are told goes to standard error: standard output is the outcome's.
#[derive(Debug)]
struct AtTerminal {
    opens: bool,
    /// Read from the first paste that is waited for.
    lines: Mutex<Option<Lines>>,
}

impl Person for AtTerminal {
    fn lead_to<'a>(&'a self, page: &'a Url) -> BoxFuture<'a, Result<(), BrowserError>> {
        Box::pin(async move {
            let opened = self.opens && matches!(timeout(START, callback::open(page)).await, Ok(Ok(())));
            aside(if opened { "a browser was opened to log in; if there is none, go to" } else { "to log in, go to" });
            aside(&format!("\n  {page}\n"));
            aside("where the browser cannot come back to this machine, paste the address at which it ends");
            Ok(())
        })
    }

    fn pasted(&self) -> BoxFuture<'_, String> {
        Box::pin(async {
            loop {
                match self.lines.lock().await.get_or_insert_with(Lines::new).next().await {
                    Some(line) if line.trim().is_empty() => {}
                    Some(line) => return line,
                    None => std::future::pending().await,
                }
            }
        })
    }

    fn not_that(&self, refused: Refused) {
        aside(&format!("{refused}: paste the whole address that the browser shows"));
    }
}
