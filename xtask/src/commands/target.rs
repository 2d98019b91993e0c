//! A server that somebody else wrote: the arguments that say where it is.

use std::collections::BTreeMap;

use anyhow::anyhow;
use client::{Endpoint, HttpEndpoint, ServerConfig, StdioEndpoint};
use scenarios::{
    model::Transport,
    peer::{ServerCommand, ServerTarget, ServerUrl},
};

use crate::failure::Failure;

/// Where the server is: a command after `--`, or a URL.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct TargetArgs {
    /// The URL of the server: Streamable HTTP, or HTTP+SSE of 2024-11-05 if it speaks no other.
    #[arg(long, conflicts_with = "command")]
    url: Option<String>,
    /// A header to send with everything (`Authorization: Bearer …`); it is never recorded.
    #[arg(long, value_name = "NAME: VALUE", requires = "url", value_parser = header)]
    header: Vec<(String, String)>,
    /// A variable to set for the command.
    #[arg(long, value_name = "NAME=VALUE", requires = "command", value_parser = variable)]
    env: Vec<(String, String)>,
    /// The command that starts the server, which then speaks over standard input and output.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl TargetArgs {
    /// Whether a server was named at all.
    pub(crate) fn is_given(&self) -> bool {
        self.url.is_some() || !self.command.is_empty()
    }

    /// The URL, where it has one.
    pub(crate) fn url(&self) -> Option<&str> {
        self.url.as_deref()
    }

    /// What the server is called in reports: without the values of headers and variables.
    pub(crate) fn subject(&self) -> String {
        match &self.url {
            // Userinfo and query may hold secrets (RFC 3986, 3.2.1 and 3.4).
            Some(url) => url::Url::parse(url).map_or_else(|_| url.clone(), |url| without_secrets(url).to_string()),
            None => self.command.join(" "),
        }
    }

    /// The server, for the raw peer.
    pub(crate) fn server(&self) -> Result<ServerTarget, Failure> {
        if let Some(url) = &self.url {
            let url = url::Url::parse(url).map_err(|cause| Failure::input(anyhow!("`{url}` is not a URL: {cause}")))?;
            return Ok(ServerTarget::Url(ServerUrl { url, headers: self.header.clone() }));
        }
        let (program, args) = self.split()?;
        let env = self.env.iter().cloned().collect();
        Ok(ServerTarget::Command(ServerCommand { program, args, env, directory: None }))
    }

    /// The server, for the built-in client. `transport` settles how a URL is spoken to.
    pub(crate) fn config(&self, transport: Option<Transport>) -> Result<ServerConfig, Failure> {
        let endpoint = match (&self.url, transport) {
            (Some(url), transport) => {
                let endpoint = HttpEndpoint {
                    url: url.clone(),
                    headers: self.header.iter().cloned().collect(),
                    ..HttpEndpoint::default()
                };
                match transport {
                    Some(Transport::Sse) => Endpoint::Sse(endpoint),
                    Some(Transport::StreamableHttp) => Endpoint::StreamableHttp(endpoint),
                    _ => Endpoint::Auto(endpoint),
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

    fn split(&self) -> Result<(String, Vec<String>), Failure> {
        let missing = || Failure::input(anyhow!("no server is named; give --url <URL>, or a command after `--`"));
        let (program, args) = self.command.split_first().ok_or_else(missing)?;
        Ok((program.clone(), args.to_vec()))
    }
}

fn without_secrets(mut url: url::Url) -> url::Url {
    // Both fail only for URLs that cannot have such a part, and then there is nothing to take away.
    let _ = url.set_password(None);
    let _ = url.set_username("");
    url.set_query(None);
    url
}

/// Reads `Name: value`.
pub(crate) fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("a header is written `Name: value`")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// Reads `NAME=value`.
pub(crate) fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("a variable is written `NAME=value`")?;
    Ok((name.to_owned(), value.to_owned()))
}
