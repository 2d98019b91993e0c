//! The protocol revisions, and which of the two eras they belong to.

use serde_json::Value;

/// The handshake revisions, oldest first.
pub const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// The first stateless revision (2026-07-28, versioning: "modern").
pub const MODERN: &str = "2026-07-28";
/// The member of `_meta` that names the revision of a modern request (2026-07-28, basic).
pub const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// How a revision agrees on what is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// `initialize`, then a session.
    Legacy,
    /// Metadata on every request, no session.
    Modern,
}

impl Era {
    /// The era of a revision. Revisions are dates, so their order as text is their order in time.
    #[must_use]
    pub fn of(revision: &str) -> Self {
        if revision >= MODERN { Self::Modern } else { Self::Legacy }
    }
}

/// The revisions that a server supports, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Support(Vec<String>);

impl Support {
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

    /// Whether this very revision is supported.
    #[must_use]
    pub fn has(&self, revision: &str) -> bool {
        self.0.iter().any(|one| one == revision)
    }

    /// Whether any revision of this era is supported.
    #[must_use]
    pub fn has_era(&self, era: Era) -> bool {
        self.0.iter().any(|one| Era::of(one) == era)
    }

    /// The newest supported revision of the legacy era.
    #[must_use]
    pub fn newest_legacy(&self) -> Option<&str> {
        self.0.iter().map(String::as_str).find(|one| Era::of(one) == Era::Legacy)
    }

    /// The same as [`Self::era_for`], for a message that neither begins a conversation nor listens, by whether it names
    /// its revision.
    pub(crate) fn era_named(&self, named: bool) -> Era {
        let modern = self.has_era(Era::Modern) && (named || !self.has_era(Era::Legacy));
        if modern { Era::Modern } else { Era::Legacy }
    }

    /// Under which era's rules a message is served. A dual-era server selects its behaviour from how the client opens:
    /// metadata on the request means modern, `initialize` means legacy (2026-07-28, versioning).
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
