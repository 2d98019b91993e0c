//! The contract between the workbench and a client under test, the built-in one included.
//!
//! A client is started like in the official conformance suite: `sh -c "<command> <server-url>"`, with the scenario name in
//! `MCP_CONFORMANCE_SCENARIO`, the revision in `MCP_CONFORMANCE_PROTOCOL_VERSION` and a JSON object in
//! `MCP_CONFORMANCE_CONTEXT`. Over stdio no URL is appended; the context contains the command to launch.
//!
//! The context also contains the servers, the steps and the path of a report file. A client may append [`ReportLine`]s to
//! that file, one JSON value per line. Expectations that need a report fail without one; frames and processes are checked
//! in any case.

use std::{collections::BTreeMap, path::PathBuf};

pub use evidence::now_us;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    evidence::{ReportedEvent, StepOutcome},
    model::{ClientSetup, ClientStep, Revision, Transport, TransportChoice},
};

/// Environment variable with the scenario name.
pub const SCENARIO: &str = "MCP_CONFORMANCE_SCENARIO";
/// Environment variable with the revision.
pub const PROTOCOL_VERSION: &str = "MCP_CONFORMANCE_PROTOCOL_VERSION";
/// Environment variable with the [`Context`].
pub const CONTEXT: &str = "MCP_CONFORMANCE_CONTEXT";

/// The keys of a [`Context`] that the official suite does not have, and `name`.
pub(crate) const CONTEXT_KEYS: &[&str] =
    &["format", "name", "scenario", "transport", "revision", "servers", "client", "steps", "report"];

/// Instructions for a client under test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Context {
    /// Version of the contract: 1.
    pub format: u32,
    /// The value of `MCP_CONFORMANCE_SCENARIO`: the name in the official suite, or else the id of the scenario.
    pub name: String,
    /// The id of the scenario.
    #[serde(default)]
    pub scenario: String,
    /// The transport of every server of the case.
    pub transport: Transport,
    /// The revision of the case.
    pub revision: Revision,
    /// The servers to connect to, by name.
    pub servers: BTreeMap<String, ContractEndpoint>,
    /// Configuration of the client.
    pub client: ClientSetup,
    /// Actions of the client.
    pub steps: Vec<ClientStep>,
    /// File to which the client appends its report, one [`ReportLine`] per line.
    pub report: PathBuf,
    /// Keys of the official suite: `toolCalls`, and credentials such as `client_id` and `client_secret`.
    #[serde(flatten)]
    pub official: Map<String, Value>,
}

/// Endpoint of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "transport", rename_all = "kebab-case")]
pub enum ContractEndpoint {
    /// A command to launch.
    Stdio {
        /// The program and its arguments.
        command: Vec<String>,
    },
    /// The URL of an HTTP+SSE stream.
    Sse {
        /// The URL.
        url: String,
    },
    /// The URL of a Streamable HTTP endpoint.
    StreamableHttp {
        /// The URL.
        url: String,
    },
}

impl ContractEndpoint {
    /// The URL, if it has one.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        match self {
            Self::Stdio { .. } => None,
            Self::Sse { url } | Self::StreamableHttp { url } => Some(url),
        }
    }

    /// Converts to an endpoint of the client library.
    pub(crate) fn for_client(&self, setup: &ClientSetup) -> client::Endpoint {
        let at = |url: &String| client::HttpEndpoint {
            url: url.clone(),
            headers: setup.headers.clone(),
            ..client::HttpEndpoint::default()
        };
        match self {
            Self::Stdio { command } => client::Endpoint::Stdio(client::StdioEndpoint {
                command: command.first().cloned().unwrap_or_default(),
                args: command.iter().skip(1).cloned().collect(),
                ..client::StdioEndpoint::default()
            }),
            Self::Sse { url } | Self::StreamableHttp { url } if setup.transport == Some(TransportChoice::Auto) => {
                client::Endpoint::Auto(at(url))
            }
            Self::Sse { url } => client::Endpoint::Sse(at(url)),
            Self::StreamableHttp { url } => client::Endpoint::StreamableHttp(at(url)),
        }
    }
}

/// One line of a client's report. Times are optional. They are microseconds of the system's monotonic clock (`CLOCK_MONOTONIC`), which all
/// processes share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReportLine {
    /// Outcome of a step, or of a connection that no step describes.
    Step(StepOutcome),
    /// An event that the client observed.
    Event(ReportedEvent),
    /// The client reached a `die` step and waits to be killed.
    Die {
        /// The process to kill.
        pid: u32,
    },
}

impl ReportLine {
    /// The process to kill, if the client reached a `die` step.
    pub(crate) fn die(&self) -> Option<u32> {
        match self {
            Self::Die { pid } => Some(*pid),
            _ => None,
        }
    }
}
