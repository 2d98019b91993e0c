//! The revisions that a server supports, and the revision that a message names.
//!
//! A script may name revisions that do not exist. They have the features of the last revision before them.

use evidence::{Era, Revision};
use serde_json::Value;

/// The member of `_meta` that names the revision of a modern request (2026-07-28, basic).
pub const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// The known revision whose rules apply to a name: itself, else the last one before it. Revisions are dates, so their
/// order as text is chronological.
pub(crate) fn effective_revision(name: &str) -> Revision {
    Revision::ALL.into_iter().rev().find(|known| known.as_str() <= name).unwrap_or(Revision::ALL[0])
}

/// The era of a revision by its name.
pub(crate) fn era(name: &str) -> Era {
    effective_revision(name).era()
}

/// The revisions that a server supports, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SupportedRevisions(Vec<String>);

impl SupportedRevisions {
    /// Support for these revisions.
    #[must_use]
    pub fn new(mut revisions: Vec<String>) -> Self {
        revisions.sort_by(|a, b| b.cmp(a));
        revisions.dedup();
        Self(revisions)
    }

    /// All of them, newest first.
    #[must_use]
    pub fn all(&self) -> &[String] {
        &self.0
    }

    /// Whether this revision is supported.
    #[must_use]
    pub fn has(&self, revision: &str) -> bool {
        self.0.iter().any(|one| one == revision)
    }

    /// Whether any revision of this era is supported.
    #[must_use]
    pub fn has_era(&self, expected: Era) -> bool {
        self.0.iter().any(|one| era(one) == expected)
    }

    /// The newest supported revision of the legacy era.
    #[must_use]
    pub fn newest_legacy(&self) -> Option<&str> {
        self.0.iter().map(String::as_str).find(|one| era(one) == Era::Legacy)
    }

    /// The newest supported revision of the modern era. A server without any gets the newest one that exists.
    pub(crate) fn newest_modern(&self) -> &str {
        let newest = self.0.iter().map(String::as_str).find(|one| era(one) == Era::Modern);
        newest.unwrap_or(Revision::NEWEST_MODERN.as_str())
    }

    /// The revision of a message: the one that it names, or the one that its session negotiated.
    pub(crate) fn negotiated<'a>(&'a self, era: Era, agreed: Option<&'a str>, message: &'a Value) -> &'a str {
        let revision = match era {
            Era::Modern => requested_version(message).filter(|version| self::era(version) == Era::Modern),
            Era::Legacy => agreed.or_else(|| self.newest_legacy()),
        };
        revision.unwrap_or_else(|| self.newest_modern())
    }

    /// The same as [`Self::era_for`] for a message that does not begin a session or listen, by whether it names its
    /// revision.
    pub(crate) fn era_named(&self, named: bool) -> Era {
        let modern = self.has_era(Era::Modern) && (named || !self.has_era(Era::Legacy));
        if modern { Era::Modern } else { Era::Legacy }
    }

    /// The era of a message. A dual-era server selects it by how the client begins: metadata on the request means
    /// modern, `initialize` means legacy (2026-07-28, versioning).
    #[must_use]
    pub fn era_for(&self, message: &Value) -> Era {
        match (self.has_era(Era::Legacy), self.has_era(Era::Modern)) {
            (true, false) => Era::Legacy,
            (false, _) => Era::Modern,
            (true, true) if requested_version(message).is_some() => Era::Modern,
            (true, true) if message.get("method").and_then(Value::as_str) == Some("server/discover") => Era::Modern,
            (true, true) if message.get("method").and_then(Value::as_str) == Some("subscriptions/listen") => {
                Era::Modern
            }
            (true, true) => Era::Legacy,
        }
    }
}

/// The revision that a modern request names in its `_meta`.
#[must_use]
pub fn requested_version(message: &Value) -> Option<&str> {
    message.get("params")?.get("_meta")?.get(VERSION_KEY)?.as_str()
}
