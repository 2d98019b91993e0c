//! The server of a client command, and how to connect to it.

use std::sync::Arc;

use agent::config::{Configured, Settings};
use anyhow::anyhow;
use clap::builder::PossibleValuesParser;
use client::{
    Endpoint, HostLink, HostSupport, ManagedServer, Revision, RevisionChoice, Root,
    auth::{AuthSettings, Authorize},
    connection::LOG_LEVELS,
};
use mock_servers::HumanDuration;
use url::Url;

use super::{access, config, error::ClientCommandError, policy};
use crate::{commands::target, transport::TransportArg};

/// The server and the output format.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ServerArgs {
    #[command(flatten)]
    given: target::TargetArgs,
    /// Name of a configured server.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["url", "command", "transport"])]
    server: Option<String>,
    #[command(flatten)]
    files: config::Files,
    /// Transport of the URL [default: Streamable HTTP, or HTTP+SSE if the server supports nothing else].
    #[arg(long, value_name = "TRANSPORT", value_enum, conflicts_with = "command")]
    transport: Option<TransportArg>,
    /// Protocol revision [default: negotiate].
    #[arg(long, value_name = "REVISION", value_parser = revision)]
    revision: Option<Revision>,
    /// Timeout of the start and of each request (`10s`, `500ms`) [default: the configuration, then MCP_TIMEOUT (start) and
    /// MCP_TOOL_TIMEOUT (tool calls), in milliseconds]. Progress restarts the timeout of a call.
    #[arg(long, value_name = "PERIOD")]
    timeout: Option<HumanDuration>,
    /// Root directory that the server may use; repeatable.
    #[arg(long, value_name = "DIR", value_parser = root)]
    root: Vec<Root>,
    /// Minimum server log level; server logs are printed to stderr.
    #[arg(long, value_name = "LEVEL", value_parser = PossibleValuesParser::new(LOG_LEVELS))]
    pub(crate) log_level: Option<String>,
    /// Print JSON, including errors.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The server of a command and its authorization.
pub(crate) struct Target {
    /// The server.
    pub(crate) server: ManagedServer,
    /// Authorizes requests to it.
    pub(crate) authorizer: Option<Arc<dyn Authorize>>,
}

impl Target {
    /// Fails if the server is disabled.
    pub(crate) fn enabled(self) -> Result<Self, ClientCommandError> {
        if self.server.enabled {
            return Ok(self);
        }
        let name = self.server.name();
        let disabled = ClientCommandError::rejected("disabled", anyhow!("the server `{name}` is disabled"));
        Err(disabled.with_help(format!("`client enable {name}` enables it")))
    }
}

impl ServerArgs {
    /// Whether a server is named.
    pub(crate) fn is_given(&self) -> bool {
        self.server.is_some() || self.given.is_given()
    }

    /// Its configuration entry, if it is configured.
    fn configured(&self) -> Result<Option<Configured>, ClientCommandError> {
        let Some(name) = &self.server else { return Ok(None) };
        let configuration = self.files.load()?;
        config::entry(&configuration, name).map(|entry| Some(entry.clone()))
    }

    /// Client features for the server. Roots are declared only if there are any.
    pub(crate) fn host(&self) -> HostLink {
        let roots = !self.root.is_empty();
        let host = HostLink::new(HostSupport { forms: true, urls: true, tasks: true, roots, ..HostSupport::NONE });
        host.set_roots(self.root.clone());
        host
    }

    /// Resolves the server.
    pub(crate) fn target(&self) -> Result<Target, ClientCommandError> {
        let (entry, settings) = (self.configured()?, config::settings()?);
        let server = self.server(entry.as_ref(), &settings)?;
        let authorizer = self.authorizer(entry.as_ref(), &settings, &server)?;
        Ok(Target { server, authorizer })
    }

    /// The authorizer with the stored credentials.
    fn authorizer(
        &self,
        entry: Option<&Configured>,
        settings: &Settings,
        server: &ManagedServer,
    ) -> Result<Option<Arc<dyn Authorize>>, ClientCommandError> {
        let Some(entry) = entry else {
            return self.given.url().map_or(Ok(None), |url| access::stored(url, AuthSettings::default()));
        };
        // A configured `Authorization` header excludes a login.
        if !entry.server.as_ref().is_some_and(agent::config::Server::may_log_in) {
            return Ok(None);
        }
        let (auth, _) = entry.auth_settings(&config::variable, settings).map_err(config::lookup_error)?;
        match &server.config.endpoint {
            Endpoint::StreamableHttp(http) | Endpoint::Sse(http) | Endpoint::Auto(http) => {
                access::stored(&http.url, auth)
            }
            Endpoint::Stdio(_) => Ok(None),
        }
    }

    /// The server with the options of the command line.
    fn server(&self, entry: Option<&Configured>, settings: &Settings) -> Result<ManagedServer, ClientCommandError> {
        let mut server = match entry {
            Some(entry) => entry.managed(&config::variable, settings).map_err(config::lookup_error)?,
            None => {
                let transport = self.transport.map(|transport| transport.0);
                let mut server = ManagedServer::new(self.given.config(transport)?);
                server.config.timeouts = settings.timeouts(None, None);
                server
            }
        };
        if let Some(revision) = self.revision {
            server.config.protocol = RevisionChoice::Pinned(revision);
        }
        if let Some(HumanDuration(limit)) = self.timeout {
            let timeouts = &mut server.config.timeouts;
            (timeouts.startup, timeouts.request, timeouts.call) = (limit, limit, limit);
            timeouts.call_ceiling = timeouts.call_ceiling.max(limit);
        }
        policy::enforce(&policy::machine_policy(), &server.config, self.server.is_some())?;
        Ok(server)
    }
}

fn root(text: &str) -> Result<Root, String> {
    let path = std::fs::canonicalize(text).map_err(|error| error.to_string())?;
    let uri = Url::from_directory_path(&path).map_err(|()| "the path cannot be a URI".to_owned())?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    // Many servers mistake a final slash for a part of the path.
    Ok(Root { uri: uri.as_str().trim_end_matches('/').to_owned(), name })
}

fn revision(text: &str) -> Result<Revision, String> {
    let known = || Revision::ALL.map(Revision::as_str).join(", ");
    text.parse().map_err(|error| format!("{error}; the client supports {}", known()))
}
