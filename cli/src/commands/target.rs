//! The server under test: the arguments that name its command or URL.

use std::collections::BTreeMap;

use anyhow::anyhow;
use client::{Endpoint, HttpEndpoint, ServerConfig, StdioEndpoint};
use scenarios::{
    model::Transport,
    peer::{ServerCommand, ServerTarget, ServerUrl},
};

use crate::error::CommandError;

/// The server: a command after `--`, or a URL.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct TargetArgs {
    /// URL of the server: Streamable HTTP, or HTTP+SSE (2024-11-05) if it supports nothing else; `unix:///path#/mcp` for a
    /// Unix socket.
    #[arg(long, conflicts_with = "command")]
    url: Option<String>,
    /// HTTP header to send with every request (`Authorization: Bearer …`); redacted in recordings.
    #[arg(long, value_name = "NAME: VALUE", requires = "url", value_parser = header)]
    header: Vec<(String, String)>,
    /// Environment variable of the command.
    #[arg(long, value_name = "NAME=VALUE", requires = "command", value_parser = variable)]
    env: Vec<(String, String)>,
    /// Command that starts the server, which uses stdio.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl TargetArgs {
    /// A server in one argument: a URL, or a command with its arguments as in a shell.
    pub(crate) fn parse(
        server: &str,
        header: Vec<(String, String)>,
        env: Vec<(String, String)>,
    ) -> Result<Self, CommandError> {
        if ["http://", "https://", "unix://"].iter().any(|scheme| server.starts_with(scheme)) {
            return Ok(Self { url: Some(server.to_owned()), header, env: Vec::new(), command: Vec::new() });
        }
        let command = shell_words::split(server)
            .map_err(|cause| CommandError::input(anyhow!("`{server}` is not a command: {cause}")))?;
        Ok(Self { url: None, header: Vec::new(), env, command })
    }

    /// Whether a server is named.
    pub(crate) fn is_given(&self) -> bool {
        self.url.is_some() || !self.command.is_empty()
    }

    /// The words of the command; none for a URL.
    pub(crate) fn command(&self) -> impl Iterator<Item = &str> {
        self.command.iter().map(String::as_str)
    }

    /// The URL, if the server has one.
    pub(crate) fn url(&self) -> Option<&str> {
        self.url.as_deref()
    }

    /// Name of the server in reports, without values of headers and variables.
    pub(crate) fn subject(&self) -> String {
        match &self.url {
            // Userinfo and query may hold secrets (RFC 3986, 3.2.1 and 3.4).
            Some(url) => url::Url::parse(url).map_or_else(|_| url.clone(), |url| without_secrets(url).to_string()),
            None => self.command.join(" "),
        }
    }

    /// The server, for the test peer.
    pub(crate) fn server(&self) -> Result<ServerTarget, CommandError> {
        if let Some(url) = &self.url {
            let url =
                url::Url::parse(url).map_err(|cause| CommandError::input(anyhow!("`{url}` is not a URL: {cause}")))?;
            return Ok(ServerTarget::Url(ServerUrl { url, headers: self.header.clone() }));
        }
        let (program, args) = self.split()?;
        let env = self.env.iter().cloned().collect();
        Ok(ServerTarget::Command(ServerCommand { program, args, env, directory: None }))
    }

    /// The server, for the built-in client. Fails if the server does not use the transport.
    pub(crate) fn config(&self, transport: Option<Transport>) -> Result<ServerConfig, CommandError> {
        let endpoint = match (&self.url, transport) {
            (Some(_), Some(Transport::Stdio)) => {
                return Err(CommandError::input(anyhow!("stdio needs a command, not a URL")));
            }
            (None, Some(Transport::StreamableHttp | Transport::HttpSse)) if !self.command.is_empty() => {
                return Err(CommandError::input(anyhow!("this transport needs a URL, not a command")));
            }
            (Some(url), transport) => {
                let endpoint = HttpEndpoint {
                    url: url.clone(),
                    headers: self.header.iter().cloned().collect(),
                    ..HttpEndpoint::default()
                };
                match transport {
                    Some(Transport::HttpSse) => Endpoint::Sse(endpoint),
                    Some(Transport::StreamableHttp) => Endpoint::StreamableHttp(endpoint),
                    Some(Transport::Stdio) | None => Endpoint::Auto(endpoint),
                }
            }
            (None, _) => {
                let (command, args) = self.split()?;
                let env: BTreeMap<_, _> = self.env.iter().cloned().collect();
                Endpoint::Stdio(StdioEndpoint { command, args, env, ..StdioEndpoint::default() })
            }
        };
        Ok(ServerConfig::new(self.subject(), endpoint))
    }

    fn split(&self) -> Result<(String, Vec<String>), CommandError> {
        let missing =
            || CommandError::input(anyhow!("no server is named")).with_help("add `--url URL`, or a command after `--`");
        let (program, args) = self.command.split_first().ok_or_else(missing)?;
        Ok((program.clone(), args.to_vec()))
    }
}

/// The URL without its user, password and query.
pub(crate) fn without_secrets(mut url: url::Url) -> url::Url {
    // Both fail only for URLs that cannot have such a part.
    let _ = url.set_password(None);
    let _ = url.set_username("");
    url.set_query(None);
    url
}

/// Parses `Name: value`.
pub(crate) fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("a header is written `Name: value`")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// Parses `NAME=value`.
pub(crate) fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("a variable is written `NAME=value`")?;
    Ok((name.to_owned(), value.to_owned()))
}
