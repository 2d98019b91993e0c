//! The step for calls of tools as tasks.

use schemars::JsonSchema;
use serde::Deserialize;

use mock_servers::HumanDuration;

use super::{User, expect::Expect};

/// The extension for tasks of 2026-07-28 (SEP-2663).
pub(crate) const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";
/// The id of a task, and a cursor, that no server returned.
pub(crate) const UNKNOWN_TASK: &str = "workbench-no-such-task";

/// Calls of tools as tasks: those that support tasks in 2025-11-25, and those that become tasks by the extension in 2026-07-28,
/// for which only `tools`, `max` and `within` count.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskCalls {
    /// A JSONPath that selects the listed tools in the values of the earlier steps, for example `$.steps[0].items`.
    pub tools: String,
    /// Maximum number of tools [default: 3].
    #[serde(default)]
    pub max: Option<usize>,
    /// Whether to cancel each task after its end, and another one at once [default: false].
    #[serde(default)]
    pub cancel: bool,
    /// Number of further tasks of the first tool, which are not followed [default: 0].
    #[serde(default)]
    pub more: u8,
    /// Whether to call the first tool once more, as a task with arguments that violate its schema [default: false].
    #[serde(default)]
    pub invalid: bool,
    /// What the user and the model do when a task requests something [default: the user declines].
    #[serde(default)]
    pub user: Option<User>,
    /// Timeout of one task [default: 10s].
    #[serde(default)]
    pub within: Option<HumanDuration>,
    /// The expected outcome.
    #[serde(default)]
    pub expect: Expect,
}
