//! The server of a tool: a command or a URL.

use std::{collections::BTreeMap, path::PathBuf};

use agent::policy::{Origin, Policy};
use client::{Endpoint, HttpEndpoint, ServerConfig, StdioEndpoint};
use scenarios::peer::{ServerCommand, ServerTarget, ServerUrl};
use schemars::JsonSchema;
use serde::Deserialize;
use url::Url;

use crate::{access::TOKEN_VARIABLE, error::ToolError, workbench::Settings};

/// A server: a command that starts it, or its URL.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Target {
    /// Program that starts the server, which uses stdio. Excludes `url`.
    #[serde(default)]
    command: Option<String>,
    /// Arguments of the command. No shell interprets them.
    #[serde(default)]
    args: Vec<String>,
    /// Environment variables to set for the command.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Working directory of the command. Default: that of the workbench.
    #[serde(default)]
    cwd: Option<PathBuf>,
    /// URL of a running server: Streamable HTTP, or HTTP+SSE of 2024-11-05. Excludes `command`.
    #[serde(default)]
    url: Option<String>,
    /// HTTP headers to send with every request, for example `Authorization`; redacted in recordings.
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

impl Target {
    /// The server for the raw peer, if the policy allows it.
    pub(super) fn server(&self, policy: &Policy) -> Result<ServerTarget, ToolError> {
        check_policy(policy, &ServerConfig::new("server", self.endpoint()?))?;
        Ok(match self.locator()? {
            ServerLocator::Url(url) => {
                let headers = self.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
                ServerTarget::Url(ServerUrl { url, headers })
            }
            ServerLocator::Command(program) => {
                let (args, env, directory) = (self.args.clone(), self.variables(), self.cwd.clone());
                ServerTarget::Command(ServerCommand { program, args, env, directory })
            }
        })
    }

    /// The server for the built-in client with a limited startup timeout, if the policy allows it.
    pub(super) fn config(&self, name: &str, settings: &Settings) -> Result<ServerConfig, ToolError> {
        let mut config = ServerConfig::new(name, self.endpoint()?);
        check_policy(&settings.policy, &config)?;
        config.timeouts.startup = std::time::Duration::from_secs(30).min(settings.limits.startup);
        Ok(config)
    }

    fn endpoint(&self) -> Result<Endpoint, ToolError> {
        Ok(match self.locator()? {
            ServerLocator::Url(url) => {
                let (url, headers) = (url.to_string(), self.headers.clone());
                Endpoint::Auto(HttpEndpoint { url, headers, ..HttpEndpoint::default() })
            }
            ServerLocator::Command(command) => {
                let (args, env, cwd) = (self.args.clone(), self.variables(), self.cwd.clone());
                Endpoint::Stdio(StdioEndpoint { command, args, env, cwd, ..StdioEndpoint::default() })
            }
        })
    }

    /// Name in reports: a URL without user information and query (RFC 3986, sections 3.2.1 and 3.4).
    pub(super) fn subject(&self) -> String {
        match self.locator() {
            Ok(ServerLocator::Url(mut url)) => {
                // These calls fail only for URLs without an authority.
                let _ = (url.set_username(""), url.set_password(None));
                url.set_query(None);
                url.to_string()
            }
            Ok(ServerLocator::Command(command)) => {
                std::iter::once(command).chain(self.args.iter().cloned()).collect::<Vec<_>>().join(" ")
            }
            Err(_) => "nothing".to_owned(),
        }
    }

    /// The variables to set. The server does not get the token of the workbench.
    fn variables(&self) -> BTreeMap<String, String> {
        let mut variables = self.env.clone();
        if std::env::var_os(TOKEN_VARIABLE).is_some() {
            variables.entry(TOKEN_VARIABLE.to_owned()).or_default();
        }
        variables
    }

    fn locator(&self) -> Result<ServerLocator, ToolError> {
        match (&self.command, &self.url) {
            (Some(command), None) if command.trim().is_empty() => Err(ToolError::arguments("`command` is empty")),
            (Some(_), None) if !self.headers.is_empty() => {
                Err(ToolError::arguments("`headers` are only valid with `url`")
                    .with_help("set variables of a command with `env`"))
            }
            (Some(command), None) => Ok(ServerLocator::Command(command.clone())),
            (None, Some(_)) if !self.args.is_empty() || !self.env.is_empty() || self.cwd.is_some() => {
                Err(ToolError::arguments("`args`, `env` and `cwd` are only valid with `command`"))
            }
            (None, Some(url)) => {
                let read = Url::parse(url)
                    .map_err(|cause| ToolError::arguments(format!("`url` is not a valid URL: {cause}")))?;
                if matches!(read.scheme(), "http" | "https") {
                    Ok(ServerLocator::Url(read))
                } else {
                    Err(ToolError::arguments("`url` is neither `http` nor `https`"))
                }
            }
            (Some(_), Some(_)) => Err(ToolError::arguments("a server must have `command` or `url`, not both")),
            (None, None) => Err(ToolError::arguments("the server has neither `command` nor `url`")
                .with_help("for example {\"command\": \"node\", \"args\": [\"server.js\"]}")),
        }
    }
}

/// Rejects a server that the administrator does not allow.
fn check_policy(policy: &Policy, server: &ServerConfig) -> Result<(), ToolError> {
    let decision = policy.decide(server, Origin::User);
    if decision.allowed {
        return Ok(());
    }
    let error = ToolError::new("not-allowed", format!("the policy does not allow the server: {}", decision.reason));
    Err(error.with_help("ask the administrator of this machine"))
}

enum ServerLocator {
    Command(String),
    Url(Url),
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn target(value: serde_json::Value) -> Target {
        serde_json::from_value(value).expect("the fields are right")
    }

    #[test]
    fn a_server_is_a_command_or_a_url_with_matching_fields() {
        for (arguments, word) in [
            (json!({}), "neither"),
            (json!({"command": "a", "url": "http://127.0.0.1/"}), "not both"),
            (json!({"command": " "}), "empty"),
            (json!({"command": "a", "headers": {"A": "b"}}), "headers"),
            (json!({"url": "http://127.0.0.1/", "args": ["a"]}), "args"),
            (json!({"url": "file:///etc/passwd"}), "http"),
            (json!({"url": "nothing"}), "not a valid URL"),
        ] {
            let error = target(arguments.clone()).server(&Policy::default()).expect_err(&arguments.to_string());
            assert!(error.message.contains(word), "{arguments}: {error}");
            assert_eq!(error.kind, "invalid-arguments");
        }
        assert!(serde_json::from_value::<Target>(json!({"cmd": "a"})).is_err());
    }

    #[test]
    fn a_report_names_a_server_without_its_secrets() {
        let secret = target(json!({"url": "https://me:hunter2@example.org/mcp?key=k", "headers": {"A": "s3cret"}}));
        assert_eq!(secret.subject(), "https://example.org/mcp");
        assert_eq!(target(json!({"command": "node", "args": ["a.js"], "env": {"K": "v"}})).subject(), "node a.js");
    }
}
