//! The server of a client command, and how to connect to it.

use agent::{
    config::{Configuration, Settings},
    host::{HostLogin, HostServer},
};
use anyhow::anyhow;
use clap::builder::PossibleValuesParser;
use client::{HostSupport, ManagedServer, Revision, RevisionChoice, Root, connection::LOG_LEVELS};
use mock_servers::HumanDuration;
use url::Url;

use super::{config, error::ClientCommandError, policy};
use crate::{commands::target, completion, transport::TransportArg};

/// The server and the output format.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ServerArgs {
    #[command(flatten)]
    given: target::TargetArgs,
    /// Name of a configured server.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["url", "command", "transport"], add = config::completed_names())]
    server: Option<String>,
    #[command(flatten)]
    files: config::Files,
    /// Transport of the URL [default: Streamable HTTP, or HTTP+SSE if the server supports nothing else].
    #[arg(long, value_name = "TRANSPORT", value_enum, conflicts_with = "command")]
    transport: Option<TransportArg>,
    /// Protocol revision [default: negotiate].
    #[arg(long, value_name = "REVISION", value_parser = revision, add = completion::revisions())]
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

impl ServerArgs {
    /// Fails if no server is named.
    pub(super) fn check_given(&self) -> Result<(), ClientCommandError> {
        // The error has the help for commands and URLs.
        if self.is_given() { Ok(()) } else { Ok(self.given.config(None).map(drop)?) }
    }

    /// Whether a server is named.
    pub(crate) fn is_given(&self) -> bool {
        self.server.is_some() || self.given.is_given()
    }

    /// The files of the configuration.
    pub(super) fn files(&self) -> &config::Files {
        &self.files
    }

    /// The same arguments, with a configured server.
    pub(super) fn with_server(&self, name: &str) -> Self {
        Self { server: Some(name.to_owned()), ..self.clone() }
    }

    /// Client features for servers. Roots are declared only if there are any.
    pub(super) fn support(&self) -> HostSupport {
        let roots = !self.root.is_empty();
        HostSupport { forms: true, urls: true, tasks: true, roots, ..HostSupport::NONE }
    }

    /// The directories that servers may use.
    pub(super) fn roots(&self) -> Vec<Root> {
        self.root.clone()
    }

    /// The named server, if the policy allows it and it is enabled.
    pub(super) fn server(
        &self,
        configuration: &Configuration,
        settings: &Settings,
    ) -> Result<HostServer, ClientCommandError> {
        let server = self.find(configuration, settings)?;
        if server.managed.enabled {
            return Ok(server);
        }
        let name = server.managed.name();
        let disabled = ClientCommandError::rejected("disabled", anyhow!("the server `{name}` is disabled"));
        Err(disabled.with_help(format!("`client enable {name}` enables it")))
    }

    /// The named server, if the policy allows it.
    pub(super) fn find(
        &self,
        configuration: &Configuration,
        settings: &Settings,
    ) -> Result<HostServer, ClientCommandError> {
        let mut server = match &self.server {
            Some(name) => configured(configuration, name, settings)?,
            None => {
                let transport = self.transport.map(|transport| transport.0);
                let mut server = ManagedServer::new(self.given.config(transport)?);
                server.config.timeouts = settings.timeouts(None, None);
                let login = self.given.url().map(|_| HostLogin::default());
                HostServer { login, ..HostServer::new(server) }
            }
        };
        self.adjust(&mut server.managed);
        policy::enforce(&policy::machine_policy(), &server.managed.config, self.server.is_some())?;
        Ok(server)
    }

    /// Applies the revision and the timeout of the command line.
    pub(super) fn adjust(&self, server: &mut ManagedServer) {
        if let Some(revision) = self.revision {
            server.config.protocol = RevisionChoice::Pinned(revision);
        }
        if let Some(HumanDuration(limit)) = self.timeout {
            let timeouts = &mut server.config.timeouts;
            (timeouts.startup, timeouts.request, timeouts.call) = (limit, limit, limit);
            timeouts.call_ceiling = timeouts.call_ceiling.max(limit);
        }
    }
}

/// A server of the configuration.
fn configured(
    configuration: &Configuration,
    name: &str,
    settings: &Settings,
) -> Result<HostServer, ClientCommandError> {
    let entry = config::entry(configuration, name)?;
    HostServer::configured(entry, &policy::machine_policy(), &config::variable, settings).map_err(config::lookup_error)
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
