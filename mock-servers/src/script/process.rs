//! How the process of a stdio server behaves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{faults::ChildScript, human_duration::HumanDuration};

/// How the process of a stdio server behaves.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct ProcessScript {
    /// How long it sleeps before it reads its first message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_delay: Option<HumanDuration>,
    /// Text that it writes to standard output before anything else (a banner, say).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub banner: Option<String>,
    /// Text that it writes to standard error at the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// It ends with this code at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_at_start: Option<u8>,
    /// It lives on when its standard input is closed.
    pub ignore_stdin_close: bool,
    /// It lives on when it receives SIGTERM.
    pub ignore_sigterm: bool,
    /// How long after the end of its input, or SIGTERM, it takes to end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linger: Option<HumanDuration>,
    /// Processes that it starts and never looks after.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<ChildScript>,
    /// What stands between the client and the server's process.
    #[serde(skip_serializing_if = "Wrapper::is_none")]
    pub wrapper: Wrapper,
    /// A command to launch instead of the mock, as the client will be told it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
}

impl ProcessScript {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What stands between the client and the server's process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Wrapper {
    /// Nothing: the client starts the server itself.
    #[default]
    None,
    /// A shell that stays while the server runs, as `npx` and `uvx` do.
    Shell,
}

impl Wrapper {
    fn is_none(&self) -> bool {
        *self == Self::None
    }
}
