//! Targets of permission decisions.

use client::{NameLimit, Tool, qualified_name};
use serde::{Deserialize, Serialize};

/// A tool call or an elicitation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PermissionTarget<'a> {
    /// A tool call.
    Tool {
        /// The server of the tool.
        server: &'a str,
        /// The current definition of the tool.
        tool: &'a Tool,
    },
    /// An elicitation request of a server.
    Elicitation {
        /// The requesting server.
        server: &'a str,
    },
}

/// The names of a [`PermissionTarget`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PermissionTargetName {
    /// A tool call.
    Tool {
        /// The server of the tool.
        server: String,
        /// Name of the tool on its server.
        tool: String,
        /// Qualified name of the tool.
        qualified: String,
    },
    /// An elicitation request of a server.
    Elicitation {
        /// The requesting server.
        server: String,
    },
}

impl PermissionTarget<'_> {
    /// The server of the target.
    #[must_use]
    pub fn server(&self) -> &str {
        match self {
            Self::Tool { server, .. } | Self::Elicitation { server } => server,
        }
    }

    pub(super) fn name(&self) -> PermissionTargetName {
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
