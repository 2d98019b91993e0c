//! Which server a command of the client is for, and how to speak with it.

use std::{env, sync::Arc, time::Duration};

use anyhow::anyhow;
use clap::builder::PossibleValuesParser;
use client::{
    HostLink, HostSupport, ProtocolChoice, Revision, Root, ServerConfig, auth::Authorize, connection::LOG_LEVELS,
};
use mock_servers::Period;
use scenarios::model::Transport;
use url::Url;

use super::{access, trouble::Trouble};
use crate::{commands::target, failure::Failure};

/// The server, and what to print.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ServerArgs {
    #[command(flatten)]
    server: target::TargetArgs,
    /// How to speak to a URL.
    #[arg(long, value_name = "TRANSPORT", default_value = "auto", conflicts_with = "command")]
    transport: Wire,
    /// The revision to speak; found out where it is not given.
    #[arg(long, value_name = "REVISION", value_parser = revision)]
    revision: Option<Revision>,
    /// How long the start and each request may take (`10s`, `500ms`). Without it MCP_TIMEOUT (start) and MCP_TOOL_TIMEOUT
    /// (tool calls) say so, in milliseconds. Progress starts the time of a call again.
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

impl ServerArgs {
    /// Whether a server is named at all.
    pub(crate) fn is_given(&self) -> bool {
        self.server.is_given()
    }

    /// What the server may ask. Roots are declared only where there are some.
    pub(crate) fn host(&self) -> HostLink {
        let roots = !self.root.is_empty();
        let host = HostLink::new(HostSupport { forms: true, urls: true, tasks: true, roots, ..HostSupport::NONE });
        host.set_roots(self.root.clone());
        host
    }

    /// What authorizes requests to it with what is kept.
    pub(crate) fn authorizer(&self) -> Result<Option<Arc<dyn Authorize>>, Trouble> {
        self.server.url().map_or(Ok(None), access::kept)
    }

    /// The server, for the client.
    pub(crate) fn config(&self) -> Result<ServerConfig, Failure> {
        let transport = match self.transport {
            Wire::Auto => None,
            Wire::Http => Some(Transport::StreamableHttp),
            Wire::Sse => Some(Transport::Sse),
        };
        let mut config = self.server.config(transport)?;
        if let Some(revision) = self.revision {
            config.protocol = ProtocolChoice::Pinned(revision);
        }
        let (given, timeouts) = (self.timeout.map(|period| period.0), &mut config.timeouts);
        if let Some(limit) = given.or(milliseconds("MCP_TIMEOUT")?) {
            timeouts.startup = limit;
        }
        if let Some(limit) = given {
            timeouts.request = limit;
        }
        if let Some(limit) = given.or(milliseconds("MCP_TOOL_TIMEOUT")?) {
            timeouts.call = limit;
            timeouts.call_ceiling = timeouts.call_ceiling.max(limit);
        }
        Ok(config)
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

/// A limit from the environment.
fn milliseconds(name: &str) -> Result<Option<Duration>, Failure> {
    let Some(text) = env::var_os(name) else { return Ok(None) };
    let number = text.to_str().and_then(|text| text.parse().ok()).filter(|number| *number > 0);
    let wrong = || Failure::input(anyhow!("{name} is not a number of milliseconds: `{}`", text.to_string_lossy()));
    number.map(Duration::from_millis).map(Some).ok_or_else(wrong)
}
