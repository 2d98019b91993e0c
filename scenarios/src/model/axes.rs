//! The axes along which a scenario becomes cases: who is judged, over which transport, in which revision.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// A client, against mock servers.
    Client,
    /// A server that somebody else wrote.
    Server,
}

/// A revision of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Revision {
    /// 2024-11-05.
    #[serde(rename = "2024-11-05")]
    V2024_11_05,
    /// 2025-03-26.
    #[serde(rename = "2025-03-26")]
    V2025_03_26,
    /// 2025-06-18.
    #[serde(rename = "2025-06-18")]
    V2025_06_18,
    /// 2025-11-25, the last with a handshake.
    #[serde(rename = "2025-11-25")]
    V2025_11_25,
    /// 2026-07-28, the first without one.
    #[serde(rename = "2026-07-28")]
    V2026_07_28,
}

impl Revision {
    /// Every revision, oldest first.
    pub const ALL: [Self; 5] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];

    /// Its name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Whether it is stateless: no `initialize`, metadata in every request (2026-07-28, basic/versioning).
    #[must_use]
    pub const fn is_modern(self) -> bool {
        matches!(self, Self::V2026_07_28)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Revision {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|revision| revision.as_str() == text)
            .ok_or_else(|| format!("`{text}` is not a revision; known are {}", Self::ALL.map(Self::as_str).join(", ")))
    }
}

/// How the two ends are connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// Standard input and output of a child process.
    Stdio,
    /// HTTP+SSE of 2024-11-05, which servers kept offering with the handshake revisions after it.
    Sse,
    /// Streamable HTTP, since 2025-03-26.
    StreamableHttp,
}

impl Transport {
    /// Every transport.
    pub const ALL: [Self; 3] = [Self::Stdio, Self::Sse, Self::StreamableHttp];

    /// Its name in files and ids.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Sse => "sse",
            Self::StreamableHttp => "streamable-http",
        }
    }

    /// Whether the revision can be spoken over it. Streamable HTTP came with 2025-03-26 (its changelog); the old
    /// HTTP+SSE has no place for the stateless requests of 2026-07-28.
    #[must_use]
    pub const fn carries(self, revision: Revision) -> bool {
        match self {
            Self::Stdio => true,
            Self::Sse => !revision.is_modern(),
            Self::StreamableHttp => !matches!(revision, Revision::V2024_11_05),
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Transport {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|transport| transport.as_str() == text)
            .ok_or_else(|| format!("`{text}` is not a transport; known are {}", Self::ALL.map(Self::as_str).join(", ")))
    }
}
