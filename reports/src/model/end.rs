//! How a case ended: its connections and its processes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The ends of the connections and processes of a case. Absent in results of older versions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CaseEnd {
    /// The last ends of connections, in order of time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub connections: Vec<ConnectionEnd>,
    /// The process under test; absent for a server with a URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessEnd>,
    /// The processes below the process under test.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub descendants: Vec<Descendant>,
    /// Whether the workbench stopped the case at its timeout.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
}

/// The end of a connection, or an event of its server's process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionEnd {
    /// Time since the start of the case, in microseconds.
    pub at_us: u64,
    /// Name of the server.
    pub server: String,
    /// The event: `closed-by-client`, `closed-by-server`, `sigterm` or `exit`.
    pub event: String,
}

/// The end of a process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ProcessEnd {
    /// Exit code; absent if a signal terminated it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// The signal that terminated it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Time since the start of the case, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_us: Option<u64>,
    /// Whether the scenario kills the process.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub killed_on_purpose: bool,
}

/// A process below the process under test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Descendant {
    /// Process id.
    pub pid: i32,
    /// Command line, truncated.
    pub command: String,
    /// Whether it outlived the process under test for too long, so that the workbench killed it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub left: bool,
}
