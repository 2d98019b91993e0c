//! Settings from environment variables, which the caller looks up.
//!
//! Each setting has a variable of this program, which takes precedence, and one of other clients. The `env` of a server does
//! not change these settings.

use std::time::Duration;

use client::{NameScheme, Timeouts, auth::credentials::Secret};
use serde::Serialize;

use crate::{output::OutputLimits, search::SearchMode};

/// Timeout of the start of a server, in milliseconds.
pub const TIMEOUT: [&str; 2] = ["MCP_WORKBENCH_TIMEOUT", "MCP_TIMEOUT"];
/// Timeout of a tool call, in milliseconds.
pub const TOOL_TIMEOUT: [&str; 2] = ["MCP_WORKBENCH_TOOL_TIMEOUT", "MCP_TOOL_TIMEOUT"];
/// Maximum number of tokens of an output for the model.
pub const MAX_OUTPUT_TOKENS: [&str; 2] = ["MCP_WORKBENCH_MAX_OUTPUT_TOKENS", "MAX_MCP_OUTPUT_TOKENS"];
/// Whether the model searches for tools: `auto`, `auto:<percent>`, `true`, `false`.
pub const TOOL_SEARCH: [&str; 2] = ["MCP_WORKBENCH_TOOL_SEARCH", "ENABLE_TOOL_SEARCH"];
/// Names of tools: `prefixed` (`mcp__<server>__<tool>`) or `short` (`<server>_<tool>`).
pub const TOOL_NAMES: [&str; 1] = ["MCP_WORKBENCH_TOOL_NAMES"];
/// The port of the redirect URI on 127.0.0.1.
pub const CALLBACK_PORT: [&str; 2] = ["MCP_WORKBENCH_OAUTH_CALLBACK_PORT", "MCP_OAUTH_CALLBACK_PORT"];
/// The secret of a pre-registered client.
pub const CLIENT_SECRET: [&str; 2] = ["MCP_WORKBENCH_CLIENT_SECRET", "MCP_CLIENT_SECRET"];

/// Maximum timeout. Longer values are used to disable a timeout.
const MAX_DURATION: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Settings of all servers. Those that are not set come from files or defaults.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// Timeout of the start of a server.
    pub startup_timeout: Option<Duration>,
    /// Timeout of a tool call.
    pub tool_timeout: Option<Duration>,
    /// Maximum number of tokens of an output for the model.
    pub max_output_tokens: Option<usize>,
    /// Whether the model searches for tools.
    pub tool_search: SearchMode,
    /// Names of tools for the model.
    pub tool_names: NameScheme,
    /// The port of the redirect URI on 127.0.0.1.
    pub callback_port: Option<u16>,
    /// The secret of a pre-registered client.
    pub client_secret: Option<Secret>,
}

/// A setting for display. Secrets are not included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DescribedSetting {
    /// The name.
    pub name: &'static str,
    /// The value.
    pub value: String,
    /// The variable that sets it, or `default`.
    pub origin: &'static str,
}

/// The value of a variable is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{variable} is not {expected}: `{found}`")]
pub struct SettingError {
    /// The variable.
    pub variable: &'static str,
    /// The valid values, as a noun phrase.
    pub expected: &'static str,
    /// The invalid value, which is never a secret.
    pub found: String,
}

impl Settings {
    /// Reads the variables. An empty variable is treated as not set.
    ///
    /// # Errors
    /// The first invalid value.
    pub fn read(variables: impl Fn(&str) -> Option<String>) -> Result<Self, SettingError> {
        let read = Variables(&variables);
        let time = |names| read.parsed(names, "a number of milliseconds above 0", milliseconds);
        Ok(Self {
            startup_timeout: time(TIMEOUT)?,
            tool_timeout: time(TOOL_TIMEOUT)?,
            max_output_tokens: read.parsed(MAX_OUTPUT_TOKENS, "a number of tokens above 0", |text| {
                text.parse().ok().filter(|tokens| *tokens > 0)
            })?,
            tool_search: read
                .parsed(TOOL_SEARCH, "one of `auto`, `auto:<percent>`, `true` and `false`", |text| text.parse().ok())?
                .unwrap_or_default(),
            tool_names: read
                .parsed(TOOL_NAMES, "`prefixed` or `short`", |text| match text {
                    "prefixed" => Some(NameScheme::Prefixed),
                    "short" => Some(NameScheme::Short),
                    _ => None,
                })?
                .unwrap_or_default(),
            callback_port: read
                .parsed(CALLBACK_PORT, "a port from 1 to 65535", |text| text.parse().ok().filter(|port| *port > 0))?,
            client_secret: read.first(CLIENT_SECRET).map(|(_, text)| Secret::new(text)),
        })
    }

    /// Describes the settings and their origins. A timeout in the configuration of a server takes precedence.
    #[must_use]
    pub fn described(&self, variables: impl Fn(&str) -> Option<String>) -> Vec<DescribedSetting> {
        let timeouts = self.timeouts(None, None);
        let limits = self.max_output_tokens.map_or_else(OutputLimits::default, OutputLimits::with_truncate);
        let describe = |name, names: &[&'static str], value| {
            let origin = names
                .iter()
                .find(|name| variables(name).is_some_and(|text| !text.is_empty()))
                .copied()
                .unwrap_or("default");
            DescribedSetting { name, value, origin }
        };
        vec![
            describe("startup timeout", &TIMEOUT, format!("{:?}", timeouts.startup)),
            describe("tool timeout", &TOOL_TIMEOUT, format!("{:?}", timeouts.call)),
            describe("output limit", &MAX_OUTPUT_TOKENS, format!("{} tokens", limits.truncate)),
            describe("tool search", &TOOL_SEARCH, self.tool_search.to_string()),
            describe("tool names", &TOOL_NAMES, format!("{:?}", self.tool_names).to_lowercase()),
            describe(
                "callback port",
                &CALLBACK_PORT,
                self.callback_port.map_or("any".to_owned(), |port| port.to_string()),
            ),
        ]
    }

    /// Returns the timeouts of a server: its own if present, else those of the environment, else the defaults.
    #[must_use]
    pub fn timeouts(&self, startup: Option<Duration>, tool: Option<Duration>) -> Timeouts {
        let mut timeouts = Timeouts::default();
        if let Some(timeout) = startup.or(self.startup_timeout) {
            timeouts.startup = timeout;
        }
        if let Some(timeout) = tool.or(self.tool_timeout) {
            timeouts.call = timeout;
            // The ceiling for calls with progress is never below a configured timeout.
            timeouts.call_ceiling = timeouts.call_ceiling.max(timeout);
        }
        timeouts
    }
}

fn milliseconds(text: &str) -> Option<Duration> {
    let number: u64 = text.parse().ok().filter(|number| *number > 0)?;
    Some(Duration::from_millis(number).min(MAX_DURATION))
}

struct Variables<'l>(&'l dyn Fn(&str) -> Option<String>);

impl Variables<'_> {
    /// Returns the first variable that is set.
    fn first<const N: usize>(&self, names: [&'static str; N]) -> Option<(&'static str, String)> {
        names.into_iter().find_map(|name| Some((name, (self.0)(name).filter(|text| !text.is_empty())?)))
    }

    fn parsed<T, const N: usize>(
        &self,
        names: [&'static str; N],
        expected: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, SettingError> {
        let Some((variable, text)) = self.first(names) else { return Ok(None) };
        parse(text.trim()).map(Some).ok_or(SettingError { variable, expected, found: text })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Settings, SettingError> {
        Settings::read(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn the_variables_of_this_program_take_precedence() {
        assert_eq!(read(&[]), Ok(Settings::default()));
        let settings = read(&[
            ("MCP_TIMEOUT", "1500"),
            ("MCP_TOOL_TIMEOUT", "100000000000"),
            ("MAX_MCP_OUTPUT_TOKENS", "50000"),
            ("ENABLE_TOOL_SEARCH", "auto:5"),
            ("MCP_OAUTH_CALLBACK_PORT", "8080"),
            ("MCP_CLIENT_SECRET", "hunter2"),
        ])
        .unwrap();
        assert_eq!(settings.startup_timeout, Some(Duration::from_millis(1500)));
        assert_eq!(settings.tool_timeout, Some(MAX_DURATION));
        assert_eq!(settings.max_output_tokens, Some(50_000));
        assert_eq!(settings.tool_search, SearchMode::Auto(5));
        assert_eq!(settings.callback_port, Some(8080));
        assert_eq!(settings.client_secret.as_ref().map(Secret::expose), Some("hunter2"));
        assert!(!format!("{settings:?}").contains("hunter2"));
        for [own, other] in [TIMEOUT, TOOL_TIMEOUT, MAX_OUTPUT_TOKENS, CALLBACK_PORT, CLIENT_SECRET] {
            assert!(own.starts_with("MCP_WORKBENCH_"), "{own}");
            assert_eq!(read(&[(other, "2"), (own, "1")]), read(&[(own, "1")]), "{own}");
            // An empty variable is not set.
            assert_eq!(read(&[(other, "2"), (own, "")]), read(&[(other, "2")]), "{own}");
        }
        assert_eq!(
            read(&[(TOOL_SEARCH[1], "true"), (TOOL_SEARCH[0], "false")]).unwrap().tool_search,
            SearchMode::Never
        );
    }

    #[test]
    fn an_error_names_the_variable() {
        for (variable, value, message) in [
            ("MCP_TIMEOUT", "10s", "MCP_TIMEOUT is not a number of milliseconds above 0: `10s`"),
            ("MCP_TOOL_TIMEOUT", "0", "MCP_TOOL_TIMEOUT is not a number of milliseconds above 0: `0`"),
            ("MAX_MCP_OUTPUT_TOKENS", "-1", "MAX_MCP_OUTPUT_TOKENS is not a number of tokens above 0: `-1`"),
            (
                "MCP_WORKBENCH_TOOL_SEARCH",
                "auto:101",
                "MCP_WORKBENCH_TOOL_SEARCH is not one of `auto`, `auto:<percent>`, `true` and `false`: `auto:101`",
            ),
            ("MCP_WORKBENCH_TOOL_NAMES", "long", "MCP_WORKBENCH_TOOL_NAMES is not `prefixed` or `short`: `long`"),
            ("MCP_OAUTH_CALLBACK_PORT", "70000", "MCP_OAUTH_CALLBACK_PORT is not a port from 1 to 65535: `70000`"),
        ] {
            assert_eq!(read(&[(variable, value)]).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn the_timeout_of_a_server_takes_precedence_over_the_environment() {
        let settings = read(&[("MCP_TIMEOUT", "1000"), ("MCP_TOOL_TIMEOUT", "900000")]).unwrap();
        let own = settings.timeouts(Some(Duration::from_secs(3)), Some(Duration::from_secs(4)));
        assert_eq!((own.startup, own.call), (Duration::from_secs(3), Duration::from_secs(4)));
        let environment = settings.timeouts(None, None);
        assert_eq!((environment.startup, environment.call), (Duration::from_secs(1), Duration::from_secs(900)));
        assert_eq!(environment.call_ceiling, Duration::from_secs(900));
        assert_eq!(Settings::default().timeouts(None, None), Timeouts::default());
    }

    proptest! {
        #[test]
        fn arbitrary_text_is_read_or_rejected(text in "\\PC*") {
            for variable in [TIMEOUT[1], MAX_OUTPUT_TOKENS[1], TOOL_SEARCH[1], CALLBACK_PORT[1]] {
                drop(read(&[(variable, &text)]));
            }
        }
    }
}
