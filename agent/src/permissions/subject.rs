//! What a decision is about.

use client::{NameLimit, Tool, qualified_name};
use serde::{Deserialize, Serialize};

/// What a decision is about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Subject<'a> {
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
pub enum About {
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

impl Subject<'_> {
    /// The server that it is about.
    #[must_use]
    pub fn server(&self) -> &str {
        match self {
            Self::Tool { server, .. } | Self::Elicitation { server } => server,
        }
    }

    pub(super) fn about(&self) -> About {
        match self {
            Self::Tool { server, tool } => About::Tool {
                server: (*server).to_owned(),
                tool: tool.name().to_owned(),
                qualified: qualified_name(server, tool.name(), NameLimit::default()),
            },
            Self::Elicitation { server } => About::Elicitation { server: (*server).to_owned() },
        }
    }
}
