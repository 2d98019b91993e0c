//! From a configured server to one that the client can manage: variables are put in, and what comes of that is checked.

use std::path::{Path, PathBuf};

use client::{HeadersHelper, HttpEndpoint, ManagedServer, ServerConfig, StdioEndpoint};
use url::Url;

use super::{ConfigString, Endpoint, Remote, Server, Stdio, TransportChoice};
use crate::config::{Diagnostic, Settings, expand::expand, source::Origin};

/// The variable that plugins know their folder by.
pub(in crate::config) const PLUGIN_ROOT: &str = "CLAUDE_PLUGIN_ROOT";

/// The most problems that are told of one server.
const MAX_PROBLEMS: usize = 100;

/// Where a server comes from, and what it is started with.
#[derive(Clone, Copy)]
pub(in crate::config) struct SpawnContext<'a> {
    /// The variables of this process.
    pub(in crate::config) variables: &'a dyn Fn(&str) -> Option<String>,
    /// What the environment says of all servers.
    pub(in crate::config) settings: &'a Settings,
    /// The folder that a relative `cwd` is below.
    pub(in crate::config) base: Option<&'a Path>,
    /// The working directory of a program whose configuration names none.
    pub(in crate::config) folder: Option<&'a Path>,
    /// The folder of the plugin that it comes from.
    pub(in crate::config) plugin: Option<&'a Path>,
}

/// Puts variables in, and collects what is wrong.
pub(super) struct Expander<'a> {
    surroundings: SpawnContext<'a>,
    origin: &'a Origin,
    pub(super) problems: Vec<Diagnostic>,
}

impl Server {
    /// The server, for a manager.
    ///
    /// # Errors
    /// Everything that is wrong: variables that are not set, and what they make of a URL, a header or a program.
    pub(in crate::config) fn managed(
        &self,
        name: &str,
        origin: &Origin,
        surroundings: SpawnContext<'_>,
    ) -> Result<ManagedServer, Vec<Diagnostic>> {
        let mut expander = Expander::new(surroundings, origin);
        let endpoint = match &self.endpoint {
            Endpoint::Stdio(stdio) => Some(client::Endpoint::Stdio(expander.stdio(stdio))),
            Endpoint::Remote(remote) => expander.remote(remote),
        };
        match endpoint {
            Some(endpoint) if expander.problems.is_empty() => {
                let mut config = ServerConfig::new(name, endpoint);
                config.protocol = self.protocol;
                config.timeouts = surroundings.settings.timeouts(self.startup_timeout, self.tool_timeout);
                let managed = ManagedServer::new(config);
                let (enabled, required, start, tools) = (self.enabled, self.required, self.start, self.tools.clone());
                Ok(ManagedServer { enabled, required, start, tools, ..managed })
            }
            _ => Err(expander.problems),
        }
    }
}

impl<'a> Expander<'a> {
    pub(super) fn new(surroundings: SpawnContext<'a>, origin: &'a Origin) -> Self {
        Self { surroundings, origin, problems: Vec::new() }
    }

    /// The text with its variables; an empty one where that is an error, which is taken note of.
    pub(super) fn text(&mut self, written: &ConfigString) -> String {
        let SpawnContext { variables, plugin, .. } = self.surroundings;
        let lookup = |name: &str| match plugin {
            Some(folder) if name == PLUGIN_ROOT => folder.to_str().map(str::to_owned),
            _ => variables(name),
        };
        let text = written.expose();
        match expand(text, lookup) {
            Ok(expanded) if expanded.contains('\0') => {
                self.wrong(written, "a NUL character", "nothing can take it");
                String::new()
            }
            Ok(expanded) => expanded,
            // Who wrote so many is helped by no more of them.
            Err(_) if self.problems.len() >= MAX_PROBLEMS => String::new(),
            Err(error) => {
                let problem = self.origin.error_within(written.span(), text, error.range(), error.to_string());
                self.problems.push(problem.with_help(error.advice()));
                String::new()
            }
        }
    }

    fn wrong(&mut self, written: &ConfigString, message: impl AsRef<str>, advice: &str) {
        self.problems.push(self.origin.error(written.span(), message).with_help(advice));
    }

    /// The same, where an empty text makes no sense.
    fn something(&mut self, written: &ConfigString, what: &str) -> String {
        let before = self.problems.len();
        let text = self.text(written);
        if text.trim().is_empty() && self.problems.len() == before {
            self.wrong(written, format!("{what} is empty"), "the variable is set to nothing");
        }
        text
    }

    fn stdio(&mut self, stdio: &Stdio) -> StdioEndpoint {
        let command = self.something(&stdio.command, "the command");
        let args = stdio.args.iter().map(|arg| self.text(arg)).collect();
        let mut env: std::collections::BTreeMap<_, _> =
            stdio.env.iter().map(|(name, value)| (name.clone(), self.text(value))).collect();
        let SpawnContext { base, folder, plugin, .. } = self.surroundings;
        if let Some(plugin) = plugin.and_then(Path::to_str) {
            // A plugin's programs find their files by it too.
            env.entry(PLUGIN_ROOT.to_owned()).or_insert_with(|| plugin.to_owned());
        }
        let cwd = stdio.cwd.as_ref().map(|cwd| PathBuf::from(self.something(cwd, "the working directory")));
        let cwd = cwd.map(|cwd| base.map_or_else(|| cwd.clone(), |base| base.join(&cwd)));
        let cwd = cwd.or_else(|| folder.map(Path::to_owned));
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
        };
        Some(match remote.transport {
            TransportChoice::Auto => client::Endpoint::Auto(endpoint),
            TransportChoice::Http => client::Endpoint::StreamableHttp(endpoint),
            TransportChoice::Sse => client::Endpoint::Sse(endpoint),
        })
    }

    fn url(&mut self, written: &ConfigString) -> Option<String> {
        let before = self.problems.len();
        let text = self.something(written, "the URL");
        if self.problems.len() > before {
            return None;
        }
        let scheme = Url::parse(&text).map(|url| url.scheme().to_owned());
        if !scheme.is_ok_and(|scheme| ["http", "https", "unix"].contains(&scheme.as_str())) {
            // What the variables hold is not told.
            self.wrong(written, "no URL of `https`, `http` or `unix`", "look at what its variables hold");
            return None;
        }
        Some(text)
    }

    /// A header whose value could end it would be another header (RFC 9110, section 5.5).
    fn header(&mut self, name: &str, written: &ConfigString) -> String {
        let value = self.text(written);
        if value.chars().any(|ch| ch.is_control() && ch != '\t') {
            self.wrong(
                written,
                format!("a control character in the header `{name}`"),
                "is there a line feed at its end?",
            );
        }
        value
    }

    /// A program with its arguments; one text alone is for a shell, as Claude Code has it.
    fn helper(&mut self, written: &[ConfigString]) -> Option<HeadersHelper> {
        let mut words = written.iter().map(|word| self.text(word)).collect::<Vec<_>>().into_iter();
        let first = words.next()?;
        Some(match written.len() {
            1 if cfg!(windows) => HeadersHelper { args: vec!["/C".to_owned(), first], ..HeadersHelper::new("cmd") },
            1 => HeadersHelper { args: vec!["-c".to_owned(), first], ..HeadersHelper::new("sh") },
            _ => HeadersHelper { args: words.collect(), ..HeadersHelper::new(first) },
        })
    }
}
