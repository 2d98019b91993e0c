//! Behavior of the process of a stdio server.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{faults::ChildScript, human_duration::HumanDuration};

/// Behavior of the process of a stdio server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct ProcessScript {
    /// The sleep before it reads its first message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_delay: Option<HumanDuration>,
    /// Text that it writes to standard output first, such as a banner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub banner: Option<String>,
    /// Text that it writes to standard error at the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// It exits with this code at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_at_start: Option<u8>,
    /// It continues when its standard input is closed.
    pub ignore_stdin_close: bool,
    /// It ignores SIGTERM.
    pub ignore_sigterm: bool,
    /// The time until it exits, after the end of its input or SIGTERM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linger: Option<HumanDuration>,
    /// Processes that it starts and never reaps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<ChildScript>,
    /// The process between the client and the server's process.
    #[serde(skip_serializing_if = "Wrapper::is_none")]
    pub wrapper: Wrapper,
    /// The command that the client launches instead of the mock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
}

impl ProcessScript {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The process between the client and the server's process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Wrapper {
    /// None: the client starts the server itself.
    #[default]
    None,
    /// A shell that runs as long as the server, as with `npx` and `uvx`.
    Shell,
}

impl Wrapper {
    fn is_none(&self) -> bool {
        *self == Self::None
    }
}
