//! The host of a command: one server, or all configured servers, with the rules of the configuration.

use std::{env, process::ExitCode, sync::Arc};

use agent::{
    config::{Configuration, ServerLookupError, Settings},
    host::{Exclusion, Host, HostConfig, HostEvent, HostOptions},
    output::{Outcome, OutputLimits, OutputStore},
};
use anyhow::anyhow;
use client::{
    ClientEventKind, Connection, Naming,
    auth::store::{CredentialStore, StoreError, open_default},
    manager::StartMode,
};
use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::{
    approval::RuleArgs,
    config, elicitation,
    error::{ClientCommandError, settle},
    policy,
    target::ServerArgs,
    terminal::Terminal,
};
use crate::{
    error::{CommandError, CommandResult},
    interrupt::{self, Interrupts},
    print, system,
};

/// Maximum size of all stored outputs, in bytes.
const STORED_OUTPUTS: u64 = 100 * 1024 * 1024;

/// The host of a command, and what it was made from.
#[derive(Clone)]
pub(super) struct Session {
    /// The host.
    pub(super) host: Host,
    /// The server that the command names; `None` for all configured servers.
    pub(super) server: Option<String>,
    /// The configuration.
    pub(super) configuration: Arc<Configuration>,
    /// Settings from the environment.
    pub(super) settings: Settings,
}

impl Session {
    /// Connects to the server that the command names.
    pub(super) async fn connection(&self, log_level: Option<&str>) -> Result<Connection, ClientCommandError> {
        let server = self.server.as_deref().unwrap_or_default();
        let connection = self.host.connection(server).await?;
        if let Some(level) = log_level {
            connection.set_log_level(level).await?;
        }
        Ok(connection)
    }
}

/// Creates a host, runs `work`, and closes all connections. SIGINT cancels the pending requests and closes the connections; a
/// second SIGINT terminates the program at once.
pub(super) fn run<W>(target: &ServerArgs, rules: &RuleArgs, work: impl FnOnce(Session) -> W) -> CommandResult
where
    W: Future<Output = Result<ExitCode, ClientCommandError>>,
{
    interrupt::runtime()?.block_on(async {
        let mut interrupts = Interrupts::watch()?;
        let terminal = Terminal::new();
        let session = match session(target, rules, &terminal) {
            Ok((session, config)) => session.host.apply(config).await.map_err(start_error).map(|()| session),
            Err(error) => Err(error),
        };
        let session = match session {
            Ok(session) => session,
            Err(error) => return settle(Err(error), target.json),
        };
        let host = session.host.clone();
        let printing = tokio::spawn(print_events(host.events()));
        let answering = host.requests().map(|requests| tokio::spawn(elicitation::answer(requests, terminal)));
        // Dropping the future cancels its requests at the servers.
        let done = tokio::select! {
            interrupt = interrupts.next() => Err(interrupt),
            done = work(session) => Ok(done),
        };
        answering.iter().for_each(tokio::task::JoinHandle::abort);
        tokio::select! {
            interrupt = interrupts.next() => return Err(interrupt.terminate()),
            () = host.close() => {}
        }
        drop(host);
        // The host owned the channel: the task prints the remaining events and ends.
        let _ = printing.await;
        match done {
            Ok(outcome) => settle(outcome, target.json),
            Err(interrupt) => {
                print::note("cancelled");
                Err(interrupt.terminate())
            }
        }
    })
}

/// No server is required in a command, so this is an internal error.
fn start_error(error: client::manager::StartError) -> ClientCommandError {
    CommandError::internal(error).into()
}

fn session(
    target: &ServerArgs,
    rules: &RuleArgs,
    terminal: &Arc<Terminal>,
) -> Result<(Session, HostConfig), ClientCommandError> {
    let (configuration, settings) = (target.files().load()?, config::settings()?);
    let (config, server) = servers(target, rules, &configuration, &settings)?;
    let options = HostOptions {
        approver: rules.approver(terminal, Some(&configuration))?,
        support: target.support(),
        roots: target.roots(),
        credentials: credentials(&config)?,
        ..self::options(&settings)
    };
    let session = Session { host: Host::new(options), server, configuration: Arc::new(configuration), settings };
    Ok((session, config))
}

/// The options that follow from the environment.
pub(crate) fn options(settings: &Settings) -> HostOptions {
    HostOptions {
        limits: settings.max_output_tokens.map_or_else(OutputLimits::default, OutputLimits::with_truncate),
        store: Some(OutputStore::new(env::temp_dir().join(output_directory()), STORED_OUTPUTS)),
        naming: Naming { scheme: settings.tool_names, ..Naming::default() },
        search: settings.tool_search,
        ..HostOptions::default()
    }
}

/// The directory of this user below the directory for temporary files.
fn output_directory() -> String {
    format!("mcp-workbench-{}", system::user_name())
}

/// The named server alone, or all configured servers. They start when they are used.
fn servers(
    target: &ServerArgs,
    rules: &RuleArgs,
    configuration: &Configuration,
    settings: &Settings,
) -> Result<(HostConfig, Option<String>), ClientCommandError> {
    let invalid = |errors| ClientCommandError::input("bad-rule", anyhow!("{errors}"));
    let policy = Arc::new(policy::machine_policy());
    let read = HostConfig::read(configuration, policy, &config::variable, settings, &rules.texts());
    let mut config = read.map_err(invalid)?;
    let mut server = None;
    if target.is_given() {
        let given = target.server(configuration, settings)?;
        server = Some(given.managed.name().to_owned());
        config.servers = vec![given];
    } else {
        config.servers.iter_mut().for_each(|server| target.adjust(&mut server.managed));
        for (name, exclusion) in &config.excluded {
            print::note(&exclusion_text(name, exclusion));
        }
    }
    for server in &mut config.servers {
        (server.managed.start, server.managed.required) = (StartMode::OnDemand, false);
    }
    Ok((config, server))
}

/// Why a configured server is not used.
pub(super) fn exclusion_text(name: &str, exclusion: &Exclusion) -> String {
    match exclusion {
        Exclusion::Config(error @ ServerLookupError::Unread { .. } | error @ ServerLookupError::Wrong { .. }) => {
            error.problems().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        }
        other => format!("the server `{name}` is not used: {other}"),
    }
}

/// The credential store of the user, if a server can use it.
pub(crate) fn credentials(config: &HostConfig) -> Result<Option<Arc<dyn CredentialStore>>, ClientCommandError> {
    if config.servers.iter().all(|server| server.login.is_none()) {
        return Ok(None);
    }
    match open_default() {
        Ok(store) => Ok(Some(store)),
        // Nothing can be stored, which is fine for servers without authorization.
        Err(StoreError::NoDirectory) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Prints progress, logs and decisions.
async fn print_events(mut events: Receiver<HostEvent>) {
    loop {
        match events.recv().await {
            Ok(event) => {
                if let Some(line) = line(&event) {
                    print::note(&line);
                }
            }
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

fn line(event: &HostEvent) -> Option<String> {
    match event {
        HostEvent::Server(event) => server_line(&event.kind),
        HostEvent::ElicitationDenied { server, reason } => {
            Some(format!("declined a request of server `{server}` to the user: {reason}"))
        }
        HostEvent::Call(call) => match call.limit {
            Some(Outcome::Large { tokens }) => Some(format!("the output is large: {tokens} tokens")),
            _ => None,
        },
        // The terminal shows the request itself.
        HostEvent::UserRequest { .. } | HostEvent::Loaded { .. } => None,
    }
}

fn server_line(what: &ClientEventKind) -> Option<String> {
    match what {
        ClientEventKind::Progress { progress, total, message, .. } => {
            let total = total.map(|total| format!("/{total}")).unwrap_or_default();
            let message = message.as_ref().map(|message| format!(" {message}")).unwrap_or_default();
            Some(format!("progress: {progress}{total}{message}"))
        }
        ClientEventKind::Log { level, data } => {
            let text = data.as_str().map_or_else(|| data.to_string(), str::to_owned);
            Some(format!("{level}: {text}"))
        }
        ClientEventKind::ToolRejected { tool, reason } => {
            Some(format!("rejected tool {}: {reason}", tool.as_deref().unwrap_or("without a name")))
        }
        ClientEventKind::Throttled { status, wait_ms } => {
            Some(format!("server returned HTTP {status}; retrying in {wait_ms} ms"))
        }
        _ => None,
    }
}
