//! The contract between the workbench and a client under test, the built-in one included.
//!
//! A client is started as the official conformance suite starts one: `sh -c "<command> <server-url>"`, with the name of
//! the scenario in `MCP_CONFORMANCE_SCENARIO`, the revision in `MCP_CONFORMANCE_PROTOCOL_VERSION` and a JSON object in
//! `MCP_CONFORMANCE_CONTEXT`. Over stdio there is no URL, so none is appended: the context says what to launch.
//!
//! What the workbench adds is in the context: the servers, the steps, and a file to report to. A client that appends one
//! [`ReportLine`] a line to that file is judged by what it reports too; one that does not is judged by the wire and its
//! processes, and what only a report can show counts as not shown.

use std::{collections::BTreeMap, path::PathBuf};

pub use mock_servers::record::now_us;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    evidence::{Noticed, StepOutcome},
    model::{ClientSetup, Revision, Step, Transport, TransportSetup},
};

/// The environment variable that names the scenario.
pub const SCENARIO: &str = "MCP_CONFORMANCE_SCENARIO";
/// The environment variable that names the revision.
pub const PROTOCOL_VERSION: &str = "MCP_CONFORMANCE_PROTOCOL_VERSION";
/// The environment variable that holds the [`Context`].
pub const CONTEXT: &str = "MCP_CONFORMANCE_CONTEXT";

/// What a client under test is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Context {
    /// The version of the contract: 1.
    pub format: u32,
    /// The scenario.
    pub name: String,
    /// The transport of every server of the case.
    pub transport: Transport,
    /// The revision of the case.
    pub revision: Revision,
    /// The servers to connect to, by name.
    pub servers: BTreeMap<String, Endpoint>,
    /// How the client is to be set up.
    pub client: ClientSetup,
    /// What the client is to do.
    pub steps: Vec<Step>,
    /// The file to which a client appends what came of it, one [`ReportLine`] a line.
    pub report: PathBuf,
}

/// Where a server is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "transport", rename_all = "kebab-case")]
pub enum Endpoint {
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

impl Endpoint {
    /// The URL, if it has one.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        match self {
            Self::Stdio { .. } => None,
            Self::Sse { url } | Self::StreamableHttp { url } => Some(url),
        }
    }

    /// The same place, in the words of the client library.
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
            Self::Sse { url } | Self::StreamableHttp { url } if setup.transport == Some(TransportSetup::Auto) => {
                client::Endpoint::Auto(at(url))
            }
            Self::Sse { url } => client::Endpoint::Sse(at(url)),
            Self::StreamableHttp { url } => client::Endpoint::StreamableHttp(at(url)),
        }
    }
}

/// One line of a client's report. Times in it are microseconds of the system's monotonic clock (`CLOCK_MONOTONIC`),
/// which all processes of a machine share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReportLine {
    /// A step ended, or a connection that the scenario did not write out.
    Step(StepOutcome),
    /// The client noticed something.
    Event(Noticed),
    /// The client has come to a `die` step and waits to be killed.
    Die {
        /// The process to kill.
        pid: u32,
    },
}
