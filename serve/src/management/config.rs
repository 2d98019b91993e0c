//! Configuration of added servers.

use std::{collections::BTreeMap, path::PathBuf};

use client::{Endpoint, HttpEndpoint, ManagedServer, ServerConfig, StdioEndpoint, manager::StartMode};
use mock_servers::HumanDuration;
use serde::Deserialize;
use url::Url;
use utoipa::ToSchema;

use super::error::ApiError;
use crate::access::TOKEN_VARIABLE;

/// Maximum length of a server name.
const MAX_NAME: usize = 128;
/// Minimum length of redacted secrets: shorter strings occur everywhere by chance.
const MIN_SECRET: usize = 4;

/// Configuration of a server.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerEntry {
    /// Transport.
    #[serde(rename = "type")]
    pub kind: TransportType,
    /// `stdio`: program that starts the server.
    #[serde(default)]
    pub command: Option<String>,
    /// `stdio`: arguments of the program.
    #[serde(default)]
    pub args: Vec<String>,
    /// `stdio`: environment variables to set. Responses never contain their values.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// `stdio`: working directory of the program.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub cwd: Option<PathBuf>,
    /// `http` and `sse`: the URL.
    #[serde(default)]
    pub url: Option<String>,
    /// `http` and `sse`: HTTP headers to send. Responses never contain their values.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Whether the server is enabled. Default: true.
    #[serde(default)]
    pub enabled: Option<bool>,
    /// Startup timeout. Default: `10s`.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "10s")]
    pub timeout: Option<HumanDuration>,
}

/// Transport of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TransportType {
    /// A program, over stdio.
    Stdio,
    /// Streamable HTTP, or HTTP+SSE if the server supports only that.
    Http,
    /// HTTP+SSE of 2024-11-05.
    Sse,
}

/// A registered server.
#[derive(Debug, Clone)]
pub(super) struct RegisteredServer {
    pub(super) managed: ManagedServer,
    /// URL for logins; `None` for stdio servers and servers with configured credentials.
    pub(super) login: Option<Url>,
    secrets: Vec<String>,
}

impl RegisteredServer {
    /// Redacts the secrets of the server.
    pub(super) fn redact(&self, text: String) -> String {
        self.secrets.iter().fold(text, |text, secret| text.replace(secret, "•••"))
    }
}

impl ServerEntry {
    /// Validates the configuration and registers it under this name.
    pub(super) fn register(self, name: &str) -> Result<RegisteredServer, ApiError> {
        check_name(name)?;
        let timeout = self.timeout;
        let enabled = self.enabled.unwrap_or(true);
        let (endpoint, login, secrets) = match self.kind {
            TransportType::Stdio => self.program()?,
            TransportType::Http | TransportType::Sse => self.remote()?,
        };
        let mut config = ServerConfig::new(name, endpoint);
        if let Some(HumanDuration(startup)) = timeout {
            config.timeouts.startup = startup;
        }
        let managed = ManagedServer { enabled, start: StartMode::AtOnce, ..ManagedServer::new(config) };
        Ok(RegisteredServer { managed, login, secrets: sorted(secrets) })
    }

    fn program(self) -> Result<(Endpoint, Option<Url>, Vec<String>), ApiError> {
        if self.url.is_some() || !self.headers.is_empty() {
            return Err(ApiError::config("`url` and `headers` are only valid for the types `http` and `sse`"));
        }
        let command = self.command.filter(|command| !command.trim().is_empty());
        let command = command.ok_or_else(|| ApiError::config("a server of type `stdio` must have `command`"))?;
        let secrets = self.env.values().cloned().collect();
        let mut env = self.env;
        // Servers must not get the token of this API. Only a short list of variables is inherited; this removes an explicit one.
        env.remove(TOKEN_VARIABLE);
        let endpoint = StdioEndpoint { command, args: self.args, env, cwd: self.cwd, ..StdioEndpoint::default() };
        Ok((Endpoint::Stdio(endpoint), None, secrets))
    }

    fn remote(self) -> Result<(Endpoint, Option<Url>, Vec<String>), ApiError> {
        if self.command.is_some() || !self.args.is_empty() || !self.env.is_empty() || self.cwd.is_some() {
            return Err(ApiError::config("`command`, `args`, `env` and `cwd` are only valid for type `stdio`"));
        }
        let text = self.url.ok_or_else(|| ApiError::config("a server of type `http` or `sse` must have `url`"))?;
        let url = Url::parse(&text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let url = url.ok_or_else(|| ApiError::config("`url` is not an HTTP or HTTPS URL"))?;
        let parts = self.headers.values().flat_map(|value| value.split_whitespace().map(str::to_owned));
        let mut secrets: Vec<String> = parts.chain(self.headers.values().cloned()).collect();
        secrets.extend(url.password().map(str::to_owned));
        secrets.extend(url.query_pairs().map(|(_, value)| value.into_owned()));
        // A configured `Authorization` is never replaced by OAuth.
        let fixed = self.headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"));
        let login = (!fixed).then(|| url.clone());
        let endpoint = HttpEndpoint { url: text, headers: self.headers, ..HttpEndpoint::default() };
        let endpoint = if self.kind == TransportType::Sse { Endpoint::Sse(endpoint) } else { Endpoint::Auto(endpoint) };
        Ok((endpoint, login, secrets))
    }
}

/// Sorts secrets by descending length, so that a part is not replaced before the whole. Removes words such as `Bearer`.
fn sorted(secrets: Vec<String>) -> Vec<String> {
    let is_secret =
        |secret: &String| secret.len() >= MIN_SECRET && !matches!(secret.as_str(), "Bearer" | "Basic" | "true");
    let mut secrets: Vec<String> = secrets.into_iter().filter(is_secret).collect();
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets
}

fn check_name(name: &str) -> Result<(), ApiError> {
    let is_name =
        !name.trim().is_empty() && name.len() <= MAX_NAME && !name.chars().any(|c| c.is_control() || c == '/');
    if !is_name {
        return Err(ApiError::config(format!(
            "a name must have at most {MAX_NAME} characters, without `/` and control characters"
        )));
    }
    if name == "events" {
        return Err(ApiError::config("`events` is the path of the event stream; choose another name"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(value: serde_json::Value) -> ServerEntry {
        serde_json::from_value(value).expect("a valid entry")
    }

    #[test]
    fn fields_must_match_the_type() {
        for (config, word) in [
            (json!({"type": "stdio"}), "command"),
            (json!({"type": "stdio", "command": "a", "url": "http://h/"}), "`url`"),
            (json!({"type": "http"}), "`url`"),
            (json!({"type": "sse", "url": "http://h/", "env": {"A": "b"}}), "`env`"),
            (json!({"type": "http", "url": "file:///etc/passwd"}), "not an HTTP"),
        ] {
            let error = entry(config.clone()).register("s").expect_err(&config.to_string());
            assert!(error.message().contains(word), "{config}: {}", error.message());
        }
        for unknown in [json!({"type": "http", "url": "http://h/", "headrs": {}}), json!({"type": "ws"}), json!({})] {
            assert!(serde_json::from_value::<ServerEntry>(unknown).is_err());
        }
        for name in ["", " ", "a/b", "a\nb", "events", &"x".repeat(200)] {
            assert!(entry(json!({"type": "http", "url": "http://h/"})).register(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn secrets_are_redacted() {
        let url = "https://me:hunter2@h/mcp?key=abcdef";
        let known = entry(json!({"type": "http", "url": url, "headers": {"Authorization": "Bearer s3cr3t-token"}}));
        let known = known.register("s").expect("a valid entry");
        assert!(known.login.is_none(), "it has configured credentials");
        let text = format!("could not ask {url} with Bearer s3cr3t-token");
        assert_eq!(known.redact(text), "could not ask https://me:•••@h/mcp?key=••• with •••");
        let known = entry(json!({"type": "stdio", "command": "c", "env": {"KEY": "value-of-it"}})).register("s");
        assert_eq!(known.expect("a valid entry").redact("said value-of-it".to_owned()), "said •••");
    }
}
