//! Which server a command of the client is for, and how to speak with it.

use std::sync::Arc;

use agent::config::{Configured, Settings};
use anyhow::anyhow;
use clap::builder::PossibleValuesParser;
use client::{
    Endpoint, HostLink, HostSupport, ManagedServer, ProtocolChoice, Revision, Root,
    auth::{AuthSettings, Authorize},
    connection::LOG_LEVELS,
};
use mock_servers::Period;
use scenarios::model::Transport;
use url::Url;

use super::{access, config, policy, trouble::Trouble};
use crate::commands::target;

/// The server, and what to print.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ServerArgs {
    #[command(flatten)]
    given: target::TargetArgs,
    /// A server of the configuration, by its name.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["url", "command", "transport"])]
    server: Option<String>,
    #[command(flatten)]
    files: config::Files,
    /// How to speak to a URL.
    #[arg(long, value_name = "TRANSPORT", default_value = "auto", conflicts_with = "command")]
    transport: Wire,
    /// The revision to speak; found out where it is not given.
    #[arg(long, value_name = "REVISION", value_parser = revision)]
    revision: Option<Revision>,
    /// How long the start and each request may take (`10s`, `500ms`). Without it the configuration says so, and then
    /// MCP_TIMEOUT (start) and MCP_TOOL_TIMEOUT (tool calls), in milliseconds. Progress starts the time of a call again.
    #[arg(long, value_name = "PERIOD")]
    timeout: Option<Period>,
    /// A folder in which the server may work; may be given several times.
    #[arg(long, value_name = "DIR", value_parser = root)]
    root: Vec<Root>,
    /// From which severity on the server is to log: what it logs goes to standard error.
    #[arg(long, value_name = "LEVEL", value_parser = PossibleValuesParser::new(LOG_LEVELS))]
    pub(crate) log_level: Option<String>,
    /// Print JSON, failures included.
    #[arg(long)]
    pub(crate) json: bool,
}

/// How a URL is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Wire {
    /// Streamable HTTP, or HTTP+SSE where the server speaks no other.
    Auto,
    /// Streamable HTTP.
    Http,
    /// HTTP+SSE of 2024-11-05.
    Sse,
}

/// The server of a command, read once.
pub(crate) struct Target {
    /// The server, for a manager.
    pub(crate) server: ManagedServer,
    /// What authorizes requests to it.
    pub(crate) authorizer: Option<Arc<dyn Authorize>>,
}

impl Target {
    /// The same, unless it is switched off.
    pub(crate) fn enabled(self) -> Result<Self, Trouble> {
        if self.server.enabled {
            return Ok(self);
        }
        let name = self.server.name();
        let disabled = Trouble::refused("disabled", anyhow!("the server `{name}` is disabled"));
        Err(disabled.advise(format!("`client enable {name}` lets it be used")))
    }
}

impl ServerArgs {
    /// Whether a server is named at all.
    pub(crate) fn is_given(&self) -> bool {
        self.server.is_some() || self.given.is_given()
    }

    /// How it is configured, where the configuration has it.
    fn configured(&self) -> Result<Option<Configured>, Trouble> {
        let Some(name) = &self.server else { return Ok(None) };
        let configuration = self.files.load()?;
        config::entry(&configuration, name).map(|entry| Some(entry.clone()))
    }

    /// What the server may ask. Roots are declared only where there are some.
    pub(crate) fn host(&self) -> HostLink {
        let roots = !self.root.is_empty();
        let host = HostLink::new(HostSupport { forms: true, urls: true, tasks: true, roots, ..HostSupport::NONE });
        host.set_roots(self.root.clone());
        host
    }

    /// Finds out what is meant.
    pub(crate) fn target(&self) -> Result<Target, Trouble> {
        let (entry, settings) = (self.configured()?, config::settings()?);
        let server = self.server(entry.as_ref(), &settings)?;
        let authorizer = self.authorizer(entry.as_ref(), &settings, &server)?;
        Ok(Target { server, authorizer })
    }

    /// What authorizes requests to it with what is kept.
    fn authorizer(
        &self,
        entry: Option<&Configured>,
        settings: &Settings,
        server: &ManagedServer,
    ) -> Result<Option<Arc<dyn Authorize>>, Trouble> {
        let Some(entry) = entry else {
            return self.given.url().map_or(Ok(None), |url| access::kept(url, AuthSettings::default()));
        };
        // Whoever configured how to authorize wants nothing else.
        if !entry.server.as_ref().is_some_and(agent::config::Server::may_log_in) {
            return Ok(None);
        }
        let (auth, _) = entry.auth_settings(&config::variable, settings).map_err(config::no_server)?;
        match &server.config.endpoint {
            Endpoint::StreamableHttp(http) | Endpoint::Sse(http) | Endpoint::Auto(http) => {
                access::kept(&http.url, auth)
            }
            Endpoint::Stdio(_) => Ok(None),
        }
    }

    /// The server, with what the command line says of it.
    fn server(&self, entry: Option<&Configured>, settings: &Settings) -> Result<ManagedServer, Trouble> {
        let mut server = match entry {
            Some(entry) => entry.managed(&config::variable, settings).map_err(config::no_server)?,
            None => {
                let transport = match self.transport {
                    Wire::Auto => None,
                    Wire::Http => Some(Transport::StreamableHttp),
                    Wire::Sse => Some(Transport::Sse),
                };
                let mut server = ManagedServer::new(self.given.config(transport)?);
                server.config.timeouts = settings.timeouts(None, None);
                server
            }
        };
        if let Some(revision) = self.revision {
            server.config.protocol = ProtocolChoice::Pinned(revision);
        }
        if let Some(Period(limit)) = self.timeout {
            let timeouts = &mut server.config.timeouts;
            (timeouts.startup, timeouts.request, timeouts.call) = (limit, limit, limit);
            timeouts.call_ceiling = timeouts.call_ceiling.max(limit);
        }
        policy::hold(&policy::of_this_machine(), &server.config, self.server.is_some())?;
        Ok(server)
    }
}

fn root(text: &str) -> Result<Root, String> {
    let path = std::fs::canonicalize(text).map_err(|error| error.to_string())?;
    let uri = Url::from_directory_path(&path).map_err(|()| "it has no URI".to_owned())?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    // Without the slash at the end, which many servers would take for a part of the path.
    Ok(Root { uri: uri.as_str().trim_end_matches('/').to_owned(), name })
}

fn revision(text: &str) -> Result<Revision, String> {
    let known = || Revision::ALL.map(Revision::as_str).join(", ");
    text.parse().map_err(|error| format!("{error}; the client speaks {}", known()))
}
