//! The revisions of the Model Context Protocol, and the two eras that they fall into.
//!
//! This module owns the list of revisions that the client speaks. It refuses to guess: text that is not one of the five
//! is no [`Revision`].

use std::{fmt, str::FromStr};

use rmcp::model::ProtocolVersion;
use serde::{Deserialize, Serialize};

/// A revision of the protocol that this client speaks, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Revision {
    /// 2024-11-05, the first one.
    #[serde(rename = "2024-11-05")]
    V2024_11_05,
    /// 2025-03-26, which brought Streamable HTTP.
    #[serde(rename = "2025-03-26")]
    V2025_03_26,
    /// 2025-06-18, which brought structured output and the version header.
    #[serde(rename = "2025-06-18")]
    V2025_06_18,
    /// 2025-11-25, the last one with a handshake.
    #[serde(rename = "2025-11-25")]
    V2025_11_25,
    /// 2026-07-28, the stateless one.
    #[serde(rename = "2026-07-28")]
    V2026_07_28,
}

/// How a revision agrees on what is spoken (2026-07-28, versioning, "Terminology").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Era {
    /// An `initialize` handshake opens a session.
    Legacy,
    /// Every request carries its version and capabilities itself.
    Modern,
}

impl Revision {
    /// All of them, oldest first.
    pub const ALL: [Self; 5] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];
    /// The newest one with an `initialize` handshake: what a client of both eras offers in it.
    pub const NEWEST_LEGACY: Self = Self::V2025_11_25;
    /// The newest one without a handshake: what a client of both eras probes with.
    pub const NEWEST_MODERN: Self = Self::V2026_07_28;

    /// The date that stands for it on the wire.
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

    /// The era it belongs to.
    #[must_use]
    pub const fn era(self) -> Era {
        match self {
            Self::V2026_07_28 => Era::Modern,
            _ => Era::Legacy,
        }
    }

    /// The same revision in the words of the SDK.
    pub(crate) const fn to_sdk(self) -> ProtocolVersion {
        match self {
            Self::V2024_11_05 => ProtocolVersion::V_2024_11_05,
            Self::V2025_03_26 => ProtocolVersion::V_2025_03_26,
            Self::V2025_06_18 => ProtocolVersion::V_2025_06_18,
            Self::V2025_11_25 => ProtocolVersion::V_2025_11_25,
            Self::V2026_07_28 => ProtocolVersion::V_2026_07_28,
        }
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text is not a revision that this client speaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a revision of the protocol that this client speaks")]
pub struct UnknownRevision(pub String);

impl FromStr for Revision {
    type Err = UnknownRevision;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|revision| revision.as_str() == text).ok_or_else(|| UnknownRevision(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_back_every_revision_and_refuses_others() {
        for revision in Revision::ALL {
            assert_eq!(revision.as_str().parse(), Ok(revision));
            assert_eq!(revision.to_sdk().as_str(), revision.as_str());
            assert_eq!(serde_json::to_value(revision).unwrap(), revision.as_str());
        }
        for text in ["", "2025-11-26", "2026-07-28 ", "draft"] {
            assert_eq!(text.parse::<Revision>(), Err(UnknownRevision(text.to_owned())));
        }
    }

    #[test]
    fn only_the_newest_is_modern() {
        let modern: Vec<_> = Revision::ALL.into_iter().filter(|revision| revision.era() == Era::Modern).collect();
        assert_eq!(modern, [Revision::NEWEST_MODERN]);
        assert_eq!(Revision::NEWEST_LEGACY.era(), Era::Legacy);
    }
}
