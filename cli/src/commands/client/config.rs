//! Configuration files: selection, changes and errors, shared by the commands that read or change them.

pub(super) mod add;
pub(super) mod get;
pub(super) mod import;
pub(super) mod list;
pub(super) mod plugins;
pub(super) mod remove;
mod secret;
pub(super) mod switch;

use std::{env, path::PathBuf};

use agent::config::{
    ConfigPaths, Configuration, Configured, Diagnostic, Scope, Server, ServerLookupError, SettingError, Settings,
    edit::{Edit, EditError, WriteError, edit_file},
};
use anyhow::anyhow;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use client::{
    Endpoint, ManagedServer, ServerConfig,
    auth::{AuthSettings, callback::CallbackOptions},
};
use serde_json::json;
use url::Url;

use super::{error::ClientCommandError, policy};
use crate::{error::CommandError, print};

/// Selects the configuration.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Files {
    /// Use only this configuration file (`.toml`, `.json`).
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// The names of configured servers. Files with errors count with their valid entries.
pub(crate) fn completed_names() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let configuration = Files::default().load().ok();
        let names = configuration.into_iter().flat_map(|configuration| configuration.servers);
        names.map(|server| CompletionCandidate::new(server.name)).collect::<Vec<_>>()
    })
}

/// A server in the configuration and the output format.
#[derive(Debug, clap::Args)]
pub(crate) struct NameArgs {
    /// Name of the server.
    #[arg(add = completed_names())]
    name: String,
    #[command(flatten)]
    files: Files,
    /// Print JSON, including errors.
    #[arg(long)]
    json: bool,
}

/// A server in the configuration, the scope of its entry, and the output format.
#[derive(Debug, clap::Args)]
pub(crate) struct EntryArgs {
    #[command(flatten)]
    server: NameArgs,
    /// Scope of the entry to change [default: the scope that defines the server].
    #[arg(long, value_name = "SCOPE", conflicts_with = "config")]
    scope: Option<EditedScope>,
}

/// A server, by URL or by its name in the configuration, and the output format.
#[derive(Debug, clap::Args)]
pub(super) struct LoginServerArgs {
    /// URL of the server, or its name in the configuration.
    #[arg(value_name = "URL|NAME", add = completed_names())]
    pub(super) server: String,
    #[command(flatten)]
    pub(super) files: Files,
    /// Print JSON, including errors.
    #[arg(long)]
    pub(super) json: bool,
}

/// A scope whose file can be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum EditedScope {
    /// For you in this project; stored outside the project.
    Local,
    /// For all users of this project: `.mcp.json`.
    Project,
    /// For you in all projects.
    User,
}

impl EditedScope {
    fn scope(self) -> Scope {
        match self {
            Self::Local => Scope::Local,
            Self::Project => Scope::Project,
            Self::User => Scope::User,
        }
    }
}

/// The file to which servers are added.
#[derive(Debug, clap::Args)]
pub(super) struct Destination {
    /// Scope of the servers.
    #[arg(long, value_name = "SCOPE", default_value = "local", conflicts_with = "config")]
    scope: EditedScope,
    #[command(flatten)]
    files: Files,
    /// Replace servers of the same name.
    #[arg(long)]
    force: bool,
    /// Print JSON, including errors.
    #[arg(long)]
    json: bool,
}

impl Destination {
    /// The file.
    fn target(&self) -> Result<ConfigFileTarget, ClientCommandError> {
        self.files.target(self.scope.scope())
    }
}

/// A configuration file to change.
pub(super) struct ConfigFileTarget {
    scope: Scope,
    path: PathBuf,
}

impl Files {
    fn places() -> Result<ConfigPaths, ClientCommandError> {
        let directory = env::current_dir().map_err(CommandError::environment)?;
        Ok(ConfigPaths::discover(&directory, |name| env::var_os(name)))
    }

    /// Loads the configuration.
    pub(crate) fn load(&self) -> Result<Configuration, ClientCommandError> {
        if let Some(managed) = policy::configuration(&policy::machine_policy()) {
            return Ok(managed);
        }
        Ok(match &self.config {
            Some(path) => Configuration::load_file(path),
            None => Configuration::load(&Self::places()?),
        })
    }

    /// The file of a scope.
    pub(super) fn target(&self, scope: Scope) -> Result<ConfigFileTarget, ClientCommandError> {
        if let Some(path) = &self.config {
            return Ok(ConfigFileTarget { scope: Scope::Explicit, path: path.clone() });
        }
        let path = Self::places()?.file(scope).map(std::path::Path::to_owned);
        let path = path.ok_or_else(|| {
            let missing =
                ClientCommandError::input("no-folder", anyhow!("the directory of the user configuration is unknown"));
            missing.with_help("set HOME, or MCP_WORKBENCH_CONFIG_DIR")
        })?;
        Ok(ConfigFileTarget { scope, path })
    }
}

impl ConfigFileTarget {
    /// The path of the file.
    fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// Whether only the owner may read a new file.
    fn is_private(&self) -> bool {
        matches!(self.scope, Scope::Local | Scope::User)
    }

    /// Changes the file and prints what was done: `done` is a verb and its preposition.
    fn edit(&self, edit: &Edit, done: &str, json: bool) -> Result<(), ClientCommandError> {
        let path = edit_file(&self.path, edit, self.is_private()).map_err(write_error)?;
        if json {
            let verb = done.split(' ').next().unwrap_or_default();
            print::json(&json!({
                "done": verb, "name": edit.name(), "scope": self.scope.as_str(), "file": path.display().to_string(),
            }))?;
        } else {
            print::text(&format!("{done} the {} configuration: {} ({})", self.scope, edit.name(), path.display()))?;
        }
        Ok(())
    }
}

/// An environment variable, if it is UTF-8.
pub(crate) fn variable(name: &str) -> Option<String> {
    env::var(name).ok()
}

/// Settings of all servers from the environment.
pub(crate) fn settings() -> Result<Settings, CommandError> {
    Settings::read(variable).map_err(|error: SettingError| CommandError::input(error))
}

/// The entry of this name.
pub(super) fn entry<'c>(configuration: &'c Configuration, name: &str) -> Result<&'c Configured, ClientCommandError> {
    configuration.entry(name).map_err(lookup_error)
}

/// The server of an entry, if the policy of this machine allows it.
pub(crate) fn server(files: &Files, name: &str) -> Result<ServerConfig, ClientCommandError> {
    let (configuration, settings) = (files.load()?, settings()?);
    let server = entry(&configuration, name)?.managed(&variable, &settings).map_err(lookup_error)?.config;
    policy::enforce(&policy::machine_policy(), &server, true)?;
    Ok(server)
}

/// Parses a URL. Names such as `plugin:a:b` are not URLs here.
pub(super) fn url(text: &str) -> Option<Url> {
    Url::parse(text).ok().filter(|_| text.contains("://"))
}

/// URL of a configured server, even if it is disabled.
pub(super) fn server_url(files: &Files, name: &str) -> Result<Url, ClientCommandError> {
    let (configuration, settings) = (files.load()?, settings()?);
    remote(name, &entry(&configuration, name)?.managed(&variable, &settings).map_err(lookup_error)?)
}

fn remote(name: &str, server: &ManagedServer) -> Result<Url, ClientCommandError> {
    match &server.config.endpoint {
        Endpoint::StreamableHttp(http) | Endpoint::Sse(http) | Endpoint::Auto(http) => {
            Url::parse(&http.url).map_err(|cause| no_login(name, &cause.to_string()))
        }
        Endpoint::Stdio(_) => Err(no_login(name, "it uses stdio")),
    }
}

fn no_login(name: &str, why: &str) -> ClientCommandError {
    ClientCommandError::input("no-login", anyhow!("`{name}` does not support login: {why}"))
}

/// URL and login settings of a configured server.
pub(super) fn login(files: &Files, name: &str) -> Result<(Url, AuthSettings, CallbackOptions), ClientCommandError> {
    let (configuration, settings) = (files.load()?, settings()?);
    let entry = entry(&configuration, name)?;
    let (auth, callback) = entry.auth_settings(&variable, &settings).map_err(lookup_error)?;
    let server = entry.managed(&variable, &settings).map_err(lookup_error)?;
    policy::enforce(&policy::machine_policy(), &server.config, true)?;
    if !entry.server.as_ref().is_some_and(Server::may_log_in) {
        return Err(no_login(name, "it uses stdio, or its configuration sets the authorization"));
    }
    Ok((remote(name, &server)?, auth, callback))
}

/// The error for a server that is missing or invalid in the configuration.
pub(super) fn lookup_error(error: ServerLookupError) -> ClientCommandError {
    match &error {
        ServerLookupError::Unknown { advice, .. } => {
            let advice = advice.clone();
            ClientCommandError::input("unknown-server", error.into()).with_help(advice)
        }
        ServerLookupError::Unread { .. } | ServerLookupError::Wrong { .. } => config_errors(error.problems()),
    }
}

/// Errors in files with their locations.
fn config_errors<'p>(problems: impl IntoIterator<Item = &'p Diagnostic>) -> ClientCommandError {
    let messages: Vec<String> = problems.into_iter().map(ToString::to_string).collect();
    ClientCommandError::input("invalid-config", anyhow!(messages.join("\n")))
}

fn write_error(error: WriteError) -> ClientCommandError {
    match error {
        WriteError::Unread { problem } => config_errors([&*problem]),
        WriteError::Io { .. } => CommandError::environment(error).into(),
        WriteError::Format { .. } => {
            ClientCommandError::input("invalid-config", error.into()).with_help("use a `.toml` or `.json` file")
        }
        WriteError::Edit(EditError::Unread { problems } | EditError::Wrong { problems }) => config_errors(&problems),
        WriteError::Edit(EditError::Exists { .. }) => {
            ClientCommandError::input("exists", error.into()).with_help("`--force` replaces it")
        }
        WriteError::Edit(EditError::Missing { .. }) => ClientCommandError::input("unknown-server", error.into()),
        WriteError::Edit(EditError::Unsupported { .. }) => ClientCommandError::input("unfit", error.into()),
    }
}
