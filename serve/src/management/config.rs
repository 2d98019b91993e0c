//! Servers as they are added: a JSON shape of our own, and what is remembered of it.

use std::{collections::BTreeMap, path::PathBuf};

use client::{Endpoint, HttpEndpoint, ManagedServer, ServerConfig, StdioEndpoint, manager::StartMode};
use mock_servers::HumanDuration;
use serde::Deserialize;
use url::Url;
use utoipa::ToSchema;

use super::error::ApiError;
use crate::access::TOKEN_VARIABLE;

/// The longest name of a server.
const NAME: usize = 128;
/// Minimum length of redacted secrets: shorter strings occur everywhere by chance.
const SECRET: usize = 4;

/// A server that is added.
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
    /// Its URL, if a person may log in there: it has one, and no credentials of its own.
    pub(super) login: Option<Url>,
    secrets: Vec<String>,
}

impl RegisteredServer {
    /// A text without its secrets.
    pub(super) fn clean(&self, text: String) -> String {
        self.secrets.iter().fold(text, |text, secret| text.replace(secret, "•••"))
    }
}

impl ServerEntry {
    /// The server under this name.
    pub(super) fn known(self, name: &str) -> Result<RegisteredServer, ApiError> {
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
            return Err(ApiError::config("`url` and `headers` belong to servers of the types `http` and `sse`"));
        }
        let command = self.command.filter(|command| !command.trim().is_empty());
        let command = command.ok_or_else(|| ApiError::config("a server of the type `stdio` has a `command`"))?;
        let secrets = self.env.values().cloned().collect();
        let mut env = self.env;
        // The token of this API is none of the server's business. Nothing but a short list is inherited; this holds anyway.
        env.remove(TOKEN_VARIABLE);
        let endpoint = StdioEndpoint { command, args: self.args, env, cwd: self.cwd, ..StdioEndpoint::default() };
        Ok((Endpoint::Stdio(endpoint), None, secrets))
    }

    fn remote(self) -> Result<(Endpoint, Option<Url>, Vec<String>), ApiError> {
        if self.command.is_some() || !self.args.is_empty() || !self.env.is_empty() || self.cwd.is_some() {
            return Err(ApiError::config("`command`, `args`, `env` and `cwd` belong to servers of the type `stdio`"));
        }
        let text = self.url.ok_or_else(|| ApiError::config("a server of the types `http` and `sse` has a `url`"))?;
        let url = Url::parse(&text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let url = url.ok_or_else(|| ApiError::config("`url` is not an HTTP or HTTPS URL"))?;
        let words = self.headers.values().flat_map(|value| value.split_whitespace().map(str::to_owned));
        let mut secrets: Vec<String> = words.chain(self.headers.values().cloned()).collect();
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

/// The longest first, so that a part does not spoil the whole; `Bearer` and the like are no secrets.
fn sorted(secrets: Vec<String>) -> Vec<String> {
    let is_secret = |secret: &String| secret.len() >= SECRET && !matches!(secret.as_str(), "Bearer" | "Basic" | "true");
    let mut secrets: Vec<String> = secrets.into_iter().filter(is_secret).collect();
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets
}

fn check_name(name: &str) -> Result<(), ApiError> {
    let is_name = !name.trim().is_empty() && name.len() <= NAME && !name.chars().any(|c| c.is_control() || c == '/');
    if !is_name {
        return Err(ApiError::config(format!("a name has at most {NAME} characters, and neither `/` nor controls")));
    }
    if name == "events" {
        return Err(ApiError::config("`events` is the path of the event stream: choose another name"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(value: serde_json::Value) -> ServerEntry {
        serde_json::from_value(value).expect("the shape is right")
    }

    #[test]
    fn a_type_has_what_belongs_to_it_and_nothing_else() {
        for (written, word) in [
            (json!({"type": "stdio"}), "command"),
            (json!({"type": "stdio", "command": "a", "url": "http://h/"}), "`url`"),
            (json!({"type": "http"}), "`url`"),
            (json!({"type": "sse", "url": "http://h/", "env": {"A": "b"}}), "`env`"),
            (json!({"type": "http", "url": "file:///etc/passwd"}), "not an HTTP"),
        ] {
            let error = entry(written.clone()).known("s").expect_err(&written.to_string());
            assert!(error.message().contains(word), "{written}: {}", error.message());
        }
        for unknown in [json!({"type": "http", "url": "http://h/", "headrs": {}}), json!({"type": "ws"}), json!({})] {
            assert!(serde_json::from_value::<ServerEntry>(unknown).is_err());
        }
        for name in ["", " ", "a/b", "a\nb", "events", &"x".repeat(200)] {
            assert!(entry(json!({"type": "http", "url": "http://h/"})).known(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn what_is_secret_is_taken_out_of_texts() {
        let url = "https://me:hunter2@h/mcp?key=abcdef";
        let known = entry(json!({"type": "http", "url": url, "headers": {"Authorization": "Bearer s3cr3t-token"}}));
        let known = known.known("s").expect("it is right");
        assert!(known.login.is_none(), "it has credentials of its own");
        let text = format!("could not ask {url} with Bearer s3cr3t-token");
        assert_eq!(known.clean(text), "could not ask https://me:•••@h/mcp?key=••• with •••");
        let known = entry(json!({"type": "stdio", "command": "c", "env": {"KEY": "value-of-it"}})).known("s");
        assert_eq!(known.expect("it is right").clean("said value-of-it".to_owned()), "said •••");
    }
}
