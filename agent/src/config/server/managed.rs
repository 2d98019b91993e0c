//! Converts a configured server to the server that the client manages. Expands variables and checks the results.

use std::path::{Path, PathBuf};

use client::{HeadersHelper, HttpEndpoint, ManagedServer, ServerConfig, StdioEndpoint};
use url::Url;

use super::{ConfigString, Endpoint, Remote, Server, Stdio, TransportChoice, finish::SCHEMES};
use crate::config::{Diagnostic, Settings, expand::expand, origin::Origin};

/// The variable with the directory of a plugin.
const PLUGIN_ROOT: &str = "CLAUDE_PLUGIN_ROOT";

/// Maximum number of problems that are reported for one server.
const MAX_PROBLEMS: usize = 100;

/// The context of a server: environment, settings and directories.
#[derive(Clone, Copy)]
pub(in crate::config) struct SpawnContext<'a> {
    /// Environment variables of this process.
    pub(in crate::config) variables: &'a dyn Fn(&str) -> Option<String>,
    /// Settings of all servers.
    pub(in crate::config) settings: &'a Settings,
    /// The directory that relative paths refer to.
    pub(in crate::config) base: Option<&'a Path>,
    /// The working directory of a server without `cwd`.
    pub(in crate::config) default_cwd: Option<&'a Path>,
    /// The directory of the plugin that configures the server.
    pub(in crate::config) plugin: Option<&'a Path>,
}

/// Expands variables and collects the problems.
pub(super) struct Expander<'a> {
    pub(super) context: SpawnContext<'a>,
    origin: &'a Origin,
    pub(super) problems: Vec<Diagnostic>,
}

impl Server {
    /// Expands the variables.
    ///
    /// # Errors
    /// All problems: variables that are not set, and invalid commands, URLs and headers.
    pub(in crate::config) fn managed(
        &self,
        name: &str,
        origin: &Origin,
        context: SpawnContext<'_>,
    ) -> Result<ManagedServer, Vec<Diagnostic>> {
        let mut expander = Expander::new(context, origin);
        let endpoint = match &self.endpoint {
            Endpoint::Stdio(stdio) => Some(client::Endpoint::Stdio(expander.stdio(stdio))),
            Endpoint::Remote(remote) => expander.remote(remote),
        };
        match endpoint {
            Some(endpoint) if expander.problems.is_empty() => {
                let mut config = ServerConfig::new(name, endpoint);
                config.protocol = self.protocol;
                config.timeouts = context.settings.timeouts(self.startup_timeout, self.tool_timeout);
                let managed = ManagedServer::new(config);
                let (enabled, required, start, tools) = (self.enabled, self.required, self.start, self.tools.clone());
                Ok(ManagedServer { enabled, required, start, tools, ..managed })
            }
            _ => Err(expander.problems),
        }
    }
}

impl<'a> Expander<'a> {
    pub(super) fn new(context: SpawnContext<'a>, origin: &'a Origin) -> Self {
        Self { context, origin, problems: Vec::new() }
    }

    /// Expands a string. Records an error and returns an empty string if that fails.
    pub(super) fn expand(&mut self, string: &ConfigString) -> String {
        let SpawnContext { variables, plugin, .. } = self.context;
        let lookup = |name: &str| match plugin {
            Some(directory) if name == PLUGIN_ROOT => directory.to_str().map(str::to_owned),
            _ => variables(name),
        };
        match expand(string.expose(), lookup) {
            Ok(expanded) if expanded.contains('\0') => {
                self.error(string, "the value contains a NUL character", "remove it from the variable");
                String::new()
            }
            Ok(expanded) => expanded,
            Err(_) if self.problems.len() >= MAX_PROBLEMS => String::new(),
            Err(error) => {
                let problem = self.origin.error_within(string, error.range(), &error.to_string());
                self.problems.push(problem.with_help(error.advice()));
                String::new()
            }
        }
    }

    pub(super) fn error(&mut self, string: &ConfigString, message: impl AsRef<str>, help: &str) {
        self.problems.push(self.origin.error(string.span(), message).with_help(help));
    }

    /// Expands a string that must not be empty.
    fn expand_required(&mut self, string: &ConfigString, what: &str) -> String {
        let before = self.problems.len();
        let text = self.expand(string);
        if text.trim().is_empty() && self.problems.len() == before {
            self.error(string, format!("{what} is empty"), "check the values of its variables");
        }
        text
    }

    fn stdio(&mut self, stdio: &Stdio) -> StdioEndpoint {
        let command = self.expand_required(&stdio.command, "the command");
        let args = stdio.args.iter().map(|arg| self.expand(arg)).collect();
        let mut env: std::collections::BTreeMap<_, _> =
            stdio.env.iter().map(|(name, value)| (name.clone(), self.expand(value))).collect();
        let SpawnContext { base, default_cwd, plugin, .. } = self.context;
        if let Some(plugin) = plugin.and_then(Path::to_str) {
            // The programs of a plugin read it as well.
            env.entry(PLUGIN_ROOT.to_owned()).or_insert_with(|| plugin.to_owned());
        }
        let cwd = stdio.cwd.as_ref().map(|cwd| PathBuf::from(self.expand_required(cwd, "the working directory")));
        let cwd = cwd.map(|cwd| base.map_or_else(|| cwd.clone(), |base| base.join(&cwd)));
        let cwd = cwd.or_else(|| default_cwd.map(Path::to_owned));
        StdioEndpoint { command, args, env, env_vars: stdio.env_vars.clone(), inherit: stdio.inherit, cwd }
    }

    fn remote(&mut self, remote: &Remote) -> Option<client::Endpoint> {
        let url = self.url(&remote.url);
        let headers = remote.headers.iter().map(|(name, value)| (name.clone(), self.header(name, value))).collect();
        let endpoint = HttpEndpoint {
            url: url?,
            headers,
            env_headers: remote.env_headers.iter().cloned().collect(),
            bearer_token_env: remote.bearer_token_variable.clone(),
            headers_helper: self.helper(&remote.headers_helper),
            http2: false,
        };
        Some(match remote.transport {
            TransportChoice::Auto => client::Endpoint::Auto(endpoint),
            TransportChoice::Http => client::Endpoint::StreamableHttp(endpoint),
            TransportChoice::Sse => client::Endpoint::Sse(endpoint),
        })
    }

    fn url(&mut self, string: &ConfigString) -> Option<String> {
        let before = self.problems.len();
        let text = self.expand_required(string, "the URL");
        if self.problems.len() > before {
            return None;
        }
        let scheme = Url::parse(&text).map(|url| url.scheme().to_owned());
        if !scheme.is_ok_and(|scheme| SCHEMES.contains(&scheme.as_str())) {
            // Not quoted, because variables may contain secrets.
            self.error(string, "not a valid URL of `https`, `http` or `unix`", "check the values of its variables");
            return None;
        }
        Some(text)
    }

    /// A line feed in a value would start another header (RFC 9110, section 5.5).
    fn header(&mut self, name: &str, string: &ConfigString) -> String {
        let value = self.expand(string);
        if value.chars().any(|ch| ch.is_control() && ch != '\t') {
            let message = format!("control character in the header `{name}`");
            self.error(string, message, "does a variable end with a line feed?");
        }
        value
    }

    /// A program with its arguments. As in Claude Code, a single string is a shell command.
    fn helper(&mut self, string: &[ConfigString]) -> Option<HeadersHelper> {
        let mut words = string.iter().map(|word| self.expand(word)).collect::<Vec<_>>().into_iter();
        let first = words.next()?;
        Some(match string.len() {
            1 if cfg!(windows) => HeadersHelper { args: vec!["/C".to_owned(), first], ..HeadersHelper::new("cmd") },
            1 => HeadersHelper { args: vec!["-c".to_owned(), first], ..HeadersHelper::new("sh") },
            _ => HeadersHelper { args: words.collect(), ..HeadersHelper::new(first) },
        })
    }
}
