//! Servers and rules of the host: those of the files, and those that requests add.

use agent::{
    config::Configuration,
    host::HostConfig,
    permissions::{RuleErrors, RuleTexts},
};
use client::{Endpoint, Inherit, ManagedServer, manager::StartError};
use scenarios::peer::ServerTarget;
use serde_json::Value;
use url::Url;

use super::{Management, error::ApiError, lock};
use crate::access::TOKEN_VARIABLE;

/// Maximum length of a server name.
const MAX_NAME: usize = 128;
/// Minimum length of redacted secrets: shorter strings occur everywhere by chance.
const MIN_SECRET: usize = 4;

/// The secrets of a server.
#[derive(Debug, Clone, Default)]
pub(super) struct Secrets(Vec<String>);

impl Secrets {
    /// The values of variables and headers, and the secret parts of the URL.
    pub(super) fn new(server: &ManagedServer, variables: &dyn Fn(&str) -> Option<String>) -> Self {
        let mut found = Vec::new();
        match &server.config.endpoint {
            Endpoint::Stdio(stdio) => {
                found.extend(stdio.env.values().cloned());
                found.extend(stdio.env_vars.iter().filter_map(|name| variables(name)));
            }
            Endpoint::StreamableHttp(http) | Endpoint::Sse(http) | Endpoint::Auto(http) => {
                let named = http.env_headers.values().chain(&http.bearer_token_env);
                let values = http.headers.values().cloned().chain(named.filter_map(|name| variables(name)));
                for value in values {
                    found.extend(value.split_whitespace().map(str::to_owned));
                    found.push(value);
                }
                if let Ok(url) = Url::parse(&http.url) {
                    found.extend(url.password().map(str::to_owned));
                    found.extend(url.query_pairs().map(|(_, value)| value.into_owned()));
                }
            }
        }
        let is_secret =
            |secret: &String| secret.len() >= MIN_SECRET && !matches!(secret.as_str(), "Bearer" | "Basic" | "true");
        found.retain(is_secret);
        // A part must not be replaced before the whole.
        found.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self(found)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn redact(&self, text: String) -> String {
        self.0.iter().fold(text, |text, secret| text.replace(secret, "•••"))
    }

    /// Redacts all strings of a value.
    pub(super) fn redact_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.redact(std::mem::take(text)),
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_value(item)),
            Value::Object(members) => members.values_mut().for_each(|member| self.redact_value(member)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

impl Management {
    /// A variable that entries may refer to. Servers must not get the token of this API.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        if name == TOKEN_VARIABLE { None } else { (self.0.variables)(name) }
    }

    /// The servers and rules of a configuration.
    pub(super) fn host_config(&self, configuration: &Configuration) -> Result<HostConfig, RuleErrors> {
        let (variables, policy) = (|name: &str| self.variable(name), self.0.policy.clone());
        let read = HostConfig::read(configuration, policy, &variables, &self.0.settings, &RuleTexts::default());
        let mut config = read?;
        config.servers.iter_mut().for_each(|server| without_token(&mut server.managed));
        Ok(config)
    }

    /// Applies servers and rules. The secrets of removed servers are kept, because late messages may quote them.
    pub(super) async fn apply(&self, config: HostConfig) -> Result<(), StartError> {
        let secrets = config.servers.iter().map(|server| {
            (server.managed.name().to_owned(), Secrets::new(&server.managed, &|name| self.variable(name)))
        });
        lock(&self.0.secrets).extend(secrets);
        self.host().apply(config).await
    }
}

/// Servers must not get the token of this API. Only a short list of variables is inherited; this covers the others.
fn without_token(server: &mut ManagedServer) {
    match &mut server.config.endpoint {
        Endpoint::Stdio(stdio) => {
            stdio.env.remove(TOKEN_VARIABLE);
            stdio.env_vars.retain(|name| name != TOKEN_VARIABLE);
            if stdio.inherit == Inherit::Everything {
                stdio.env.insert(TOKEN_VARIABLE.to_owned(), String::new());
            }
        }
        Endpoint::StreamableHttp(http) | Endpoint::Sse(http) | Endpoint::Auto(http) => {
            http.env_headers.retain(|_, name| name != TOKEN_VARIABLE);
            http.bearer_token_env = http.bearer_token_env.take().filter(|name| name != TOKEN_VARIABLE);
        }
    }
}

/// The same for a server under test, which inherits all variables.
pub(super) fn target_without_token(mut target: ServerTarget) -> ServerTarget {
    if let ServerTarget::Command(command) = &mut target {
        command.env.insert(TOKEN_VARIABLE.to_owned(), String::new());
    }
    target
}

/// Checks a name that is a segment of a path.
pub(super) fn check_name(name: &str) -> Result<(), ApiError> {
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
    use client::{HttpEndpoint, ServerConfig, StdioEndpoint};

    use super::*;

    fn managed(endpoint: Endpoint) -> ManagedServer {
        ManagedServer::new(ServerConfig::new("s", endpoint))
    }

    #[test]
    fn names_are_segments_of_a_path() {
        for name in ["", " ", "a/b", "a\nb", "events", &"x".repeat(200)] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
        assert!(check_name("plugin:a:b").is_ok());
    }

    #[test]
    fn secrets_are_redacted() {
        let url = "https://me:hunter2@h/mcp?key=abcdef".to_owned();
        let headers = [("Authorization".to_owned(), "Bearer s3cr3t-token".to_owned())].into();
        let bearer_token_env = Some("TOKEN".to_owned());
        let server =
            managed(Endpoint::Auto(HttpEndpoint { url: url.clone(), headers, bearer_token_env, ..Default::default() }));
        let secrets = Secrets::new(&server, &|name| (name == "TOKEN").then(|| "from-variable".to_owned()));
        let text = format!("could not ask {url} with Bearer s3cr3t-token and from-variable");
        assert_eq!(secrets.redact(text), "could not ask https://me:•••@h/mcp?key=••• with ••• and •••");
        let env = [("KEY".to_owned(), "value-of-it".to_owned())].into();
        let secrets = Secrets::new(&managed(Endpoint::Stdio(StdioEndpoint { env, ..Default::default() })), &|_| None);
        let mut value = serde_json::json!({ "a": ["said value-of-it", 1] });
        secrets.redact_value(&mut value);
        assert_eq!(value, serde_json::json!({ "a": ["said •••", 1] }));
    }

    #[test]
    fn servers_do_not_get_the_token() {
        let env = [(TOKEN_VARIABLE.to_owned(), "t".to_owned())].into();
        let stdio = StdioEndpoint { env, env_vars: vec![TOKEN_VARIABLE.to_owned()], ..Default::default() };
        for inherit in [Inherit::Default, Inherit::Everything] {
            let mut server = managed(Endpoint::Stdio(StdioEndpoint { inherit, ..stdio.clone() }));
            without_token(&mut server);
            let Endpoint::Stdio(stdio) = &server.config.endpoint else { unreachable!("a command") };
            let passed = stdio.env.get(TOKEN_VARIABLE).map(String::as_str);
            assert_eq!(passed, (inherit == Inherit::Everything).then_some(""));
            assert!(stdio.env_vars.is_empty());
        }
    }
}
