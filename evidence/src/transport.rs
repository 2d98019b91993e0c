//! The three transports of the Model Context Protocol.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Revision;

/// A transport of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// Standard input and output of a child process.
    Stdio,
    /// HTTP+SSE of 2024-11-05, which servers kept offering with the handshake revisions after it.
    #[serde(rename = "sse", alias = "http-sse")]
    HttpSse,
    /// Streamable HTTP, since 2025-03-26.
    StreamableHttp,
}

impl Transport {
    /// All transports.
    pub const ALL: [Self; 3] = [Self::Stdio, Self::HttpSse, Self::StreamableHttp];

    /// Its name in files, flags and ids.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::HttpSse => "sse",
            Self::StreamableHttp => "streamable-http",
        }
    }

    /// Whether the revision can be used over it. Streamable HTTP came with 2025-03-26 (its changelog); HTTP+SSE cannot
    /// carry the stateless requests of the modern era.
    #[must_use]
    pub const fn carries(self, revision: Revision) -> bool {
        match self {
            Self::Stdio => true,
            Self::HttpSse => !revision.is_modern(),
            Self::StreamableHttp => !matches!(revision, Revision::V2024_11_05),
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that is not the name of a transport.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown transport `{0}`; expected one of {known}", known = Transport::ALL.map(Transport::as_str).join(", "))]
pub struct UnknownTransport(pub String);

impl FromStr for Transport {
    type Err = UnknownTransport;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|transport| transport.as_str() == text)
            .ok_or_else(|| UnknownTransport(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_back_every_transport_and_rejects_others() {
        for transport in Transport::ALL {
            assert_eq!(transport.as_str().parse(), Ok(transport));
            assert_eq!(serde_json::to_value(transport).unwrap(), transport.as_str());
        }
        assert_eq!("http".parse::<Transport>(), Err(UnknownTransport("http".into())));
        assert_eq!(serde_json::from_str::<Transport>("\"http-sse\"").unwrap(), Transport::HttpSse);
    }
}
