//! The revisions of the Model Context Protocol, and the two eras they belong to.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How client and server agree on a revision (2026-07-28, versioning, "Terminology").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Era {
    /// An `initialize` handshake opens a session.
    Legacy,
    /// Every request carries its revision and capabilities; there are no sessions.
    Modern,
}

// One row per revision, so that the list, the names and the eras cannot disagree.
macro_rules! revisions {
    ($($(#[doc = $doc:literal])* $variant:ident = $date:literal, $era:ident;)*) => {
        /// A revision of the protocol. The order is chronological.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum Revision {
            $($(#[doc = $doc])* #[serde(rename = $date)] $variant,)*
        }

        impl Revision {
            /// All revisions, oldest first.
            pub const ALL: [Self; [$($date),*].len()] = [$(Self::$variant),*];

            /// The date that names the revision in messages, headers and files.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $date,)* }
            }

            /// The era it belongs to.
            #[must_use]
            pub const fn era(self) -> Era {
                match self { $(Self::$variant => Era::$era,)* }
            }
        }
    };
}

revisions! {
    /// 2024-11-05.
    V2024_11_05 = "2024-11-05", Legacy;
    /// 2025-03-26.
    V2025_03_26 = "2025-03-26", Legacy;
    /// 2025-06-18.
    V2025_06_18 = "2025-06-18", Legacy;
    /// 2025-11-25, the last with a handshake.
    V2025_11_25 = "2025-11-25", Legacy;
    /// 2026-07-28, the first without one.
    V2026_07_28 = "2026-07-28", Modern;
}

impl Revision {
    /// The newest revision.
    pub const NEWEST: Self = Self::ALL[Self::ALL.len() - 1];
    /// The newest revision with a handshake.
    pub const NEWEST_LEGACY: Self = Self::newest(Era::Legacy);
    /// The newest revision without a handshake.
    pub const NEWEST_MODERN: Self = Self::newest(Era::Modern);

    /// Whether it is stateless: no `initialize`, metadata in every request (2026-07-28, basic/versioning).
    #[must_use]
    pub const fn is_modern(self) -> bool {
        matches!(self.era(), Era::Modern)
    }

    const fn newest(era: Era) -> Self {
        let mut at = Self::ALL.len() - 1;
        while Self::ALL[at].is_modern() != matches!(era, Era::Modern) {
            at -= 1;
        }
        Self::ALL[at]
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that is not the date of a known revision.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown protocol revision `{0}`; expected one of {known}", known = Revision::ALL.map(Revision::as_str).join(", "))]
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
    fn reads_back_every_revision_and_rejects_others() {
        for revision in Revision::ALL {
            assert_eq!(revision.as_str().parse(), Ok(revision));
            assert_eq!(serde_json::to_value(revision).unwrap(), revision.as_str());
        }
        for text in ["", "2025-11-26", "2026-07-28 ", "draft"] {
            assert_eq!(text.parse::<Revision>(), Err(UnknownRevision(text.to_owned())));
        }
    }

    #[test]
    fn all_is_chronological_and_the_newest_of_each_era_is_found() {
        assert!(Revision::ALL.is_sorted_by_key(|revision| revision.as_str()));
        assert!(Revision::ALL.is_sorted());
        assert_eq!(Revision::NEWEST_LEGACY, Revision::V2025_11_25);
        assert_eq!(Revision::NEWEST_MODERN, Revision::V2026_07_28);
    }
}
