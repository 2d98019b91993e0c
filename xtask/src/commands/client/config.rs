//! What the commands that read and change configurations share: which files they are about, and how mistakes are told.

pub(super) mod add;
pub(super) mod get;
pub(super) mod list;
pub(super) mod remove;
pub(super) mod switch;

use std::{env, path::PathBuf};

use agent::config::{
    Configuration, Configured, NoServer, Places, Problem, Scope, Server, SettingError, Settings,
    edit::{Edit, EditError, WriteError, edit_file},
};
use anyhow::anyhow;
use client::{
    Endpoint, ManagedServer,
    auth::{AuthSettings, callback::CallbackOptions},
};
use serde_json::json;
use url::Url;

use super::{policy, say, trouble::Trouble};
use crate::failure::Failure;

/// Which configuration is meant.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct Files {
    /// The file of configuration to use, and no other (`.toml`, `.json`).
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// The scopes of which files are changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum EditedScope {
    /// For you, in this project: a file beside your other settings, and not in the project.
    Local,
    /// For all who work on this project: `.mcp.json`.
    Project,
    /// For you, everywhere.
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

/// A file that is to be changed.
pub(super) struct Place {
    scope: Scope,
    path: PathBuf,
}

impl Files {
    fn places() -> Result<Places, Trouble> {
        let folder = env::current_dir().map_err(Failure::environment)?;
        Ok(Places::of(&folder, |name| env::var_os(name)))
    }

    /// All of the configuration.
    pub(super) fn load(&self) -> Result<Configuration, Trouble> {
        if let Some(managed) = policy::configuration(&policy::of_this_machine()) {
            return Ok(managed);
        }
        Ok(match &self.config {
            Some(path) => Configuration::load_file(path),
            None => Configuration::load(&Self::places()?),
        })
    }

    /// The file of a scope.
    pub(super) fn place(&self, scope: Scope) -> Result<Place, Trouble> {
        if let Some(path) = &self.config {
            return Ok(Place { scope: Scope::Given, path: path.clone() });
        }
        let path = Self::places()?.file(scope).map(std::path::Path::to_owned);
        let path = path.ok_or_else(|| {
            let missing = Trouble::input("no-folder", anyhow!("there is no folder for your files of configuration"));
            missing.advise("set HOME, or MCP_WORKBENCH_CONFIG_DIR")
        })?;
        Ok(Place { scope, path })
    }
}

impl Place {
    /// Changes the file, and tells what was done: `done` is a verb and its preposition.
    fn edit(&self, edit: &Edit, done: &str, json: bool) -> Result<(), Trouble> {
        let private = matches!(self.scope, Scope::Local | Scope::User);
        let path = edit_file(&self.path, edit, private).map_err(not_written)?;
        if json {
            let verb = done.split(' ').next().unwrap_or_default();
            say::json(&json!({
                "done": verb, "name": edit.name(), "scope": self.scope.as_str(), "file": path.display().to_string(),
            }))?;
        } else {
            say::text(&format!("{done} the {} configuration: {} ({})", self.scope, edit.name(), path.display()))?;
        }
        Ok(())
    }
}

/// What a variable of this process holds, if it is text.
pub(super) fn variable(name: &str) -> Option<String> {
    env::var(name).ok()
}

/// What the environment says of all servers.
pub(super) fn settings() -> Result<Settings, Failure> {
    Settings::read(variable).map_err(|error: SettingError| Failure::input(error))
}

/// The entry of this name.
pub(super) fn entry<'c>(configuration: &'c Configuration, name: &str) -> Result<&'c Configured, Trouble> {
    configuration.entry(name).map_err(no_server)
}

/// The URL that a text is. A name such as `plugin:a:b` would be one too, and is none here.
pub(super) fn url(text: &str) -> Option<Url> {
    Url::parse(text).ok().filter(|_| text.contains("://"))
}

/// Where a configured server is, whether or not it may be used.
pub(super) fn place(files: &Files, name: &str) -> Result<Url, Trouble> {
    let (configuration, settings) = (files.load()?, settings()?);
    remote(name, &entry(&configuration, name)?.managed(&variable, &settings).map_err(no_server)?)
}

fn remote(name: &str, server: &ManagedServer) -> Result<Url, Trouble> {
    match &server.config.endpoint {
        Endpoint::StreamableHttp(http) | Endpoint::Sse(http) | Endpoint::Auto(http) => {
            Url::parse(&http.url).map_err(|cause| no_login(name, &cause.to_string()))
        }
        Endpoint::Stdio(_) => Err(no_login(name, "it is a program")),
    }
}

fn no_login(name: &str, why: &str) -> Trouble {
    Trouble::input("no-login", anyhow!("there is no logging in at `{name}`: {why}"))
}

/// Where a configured server is, and how to log in at it.
pub(super) fn login(files: &Files, name: &str) -> Result<(Url, AuthSettings, CallbackOptions), Trouble> {
    let (configuration, settings) = (files.load()?, settings()?);
    let entry = entry(&configuration, name)?;
    let (auth, callback) = entry.auth_settings(&variable, &settings).map_err(no_server)?;
    let server = entry.managed(&variable, &settings).map_err(no_server)?;
    policy::hold(&policy::of_this_machine(), &server.config, true)?;
    if !entry.server.as_ref().is_some_and(Server::may_log_in) {
        return Err(no_login(name, "it is a program, or its configuration says how to authorize"));
    }
    Ok((remote(name, &server)?, auth, callback))
}

/// Why a server of the configuration is not to be had.
pub(super) fn no_server(error: NoServer) -> Trouble {
    match &error {
        NoServer::Unknown { advice, .. } => {
            let advice = advice.clone();
            Trouble::input("unknown-server", error.into()).advise(advice)
        }
        NoServer::Unread { .. } | NoServer::Wrong { .. } => wrong(error.problems()),
    }
}

/// Mistakes in files, each with its place.
fn wrong<'p>(problems: impl IntoIterator<Item = &'p Problem>) -> Trouble {
    let told: Vec<String> = problems.into_iter().map(ToString::to_string).collect();
    Trouble::input("invalid-config", anyhow!(told.join("\n")))
}

fn not_written(error: WriteError) -> Trouble {
    match error {
        WriteError::Unread { problem } => wrong([&*problem]),
        WriteError::Io { .. } => Failure::environment(error).into(),
        WriteError::Format { .. } => {
            Trouble::input("invalid-config", error.into()).advise("it ends in `.toml` or `.json`")
        }
        WriteError::Edit(EditError::Unread { problems } | EditError::Wrong { problems }) => wrong(&problems),
        WriteError::Edit(EditError::Exists { .. }) => {
            Trouble::input("exists", error.into()).advise("`--force` puts the new one in its place")
        }
        WriteError::Edit(EditError::Missing { .. }) => Trouble::input("unknown-server", error.into()),
        WriteError::Edit(EditError::Unfit { .. }) => Trouble::input("unfit", error.into()),
    }
}
