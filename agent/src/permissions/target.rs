//! What a decision is about.

use client::{NameLimit, Tool, qualified_name};
use serde::{Deserialize, Serialize};

/// What a decision is about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PermissionTarget<'a> {
    /// Calling a tool.
    Tool {
        /// The server that has it.
        server: &'a str,
        /// The tool, as the server describes it now.
        tool: &'a Tool,
    },
    /// Being asked something by a server.
    Elicitation {
        /// The server that asks.
        server: &'a str,
    },
}

/// What a decision was about, by its names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PermissionTargetName {
    /// Calling a tool.
    Tool {
        /// The server that has it.
        server: String,
        /// The tool, as its server knows it.
        tool: String,
        /// The tool, as a model knows it.
        qualified: String,
    },
    /// Being asked something by a server.
    Elicitation {
        /// The server that asks.
        server: String,
    },
}

impl PermissionTarget<'_> {
    /// The server that it is about.
    #[must_use]
    pub fn server(&self) -> &str {
        match self {
            Self::Tool { server, .. } | Self::Elicitation { server } => server,
        }
    }

    pub(super) fn about(&self) -> PermissionTargetName {
        match self {
            Self::Tool { server, tool } => PermissionTargetName::Tool {
                server: (*server).to_owned(),
                tool: tool.name().to_owned(),
                qualified: qualified_name(server, tool.name(), NameLimit::default()),
            },
            Self::Elicitation { server } => PermissionTargetName::Elicitation { server: (*server).to_owned() },
        }
    }
}
