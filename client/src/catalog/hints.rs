//! Caching hints of a list (2026-07-28, server/utilities/caching).

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::Instant;

/// Maximum time to live.
pub(crate) const MAX_TTL: Duration = Duration::from_secs(24 * 60 * 60);

/// The identities that may use a cached result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheScope {
    /// All.
    Public,
    /// Only the one that requested it. This is the default.
    #[default]
    Private,
}

/// Caching hints of a list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheHints {
    /// End of the time to live; `None` before a list was read.
    pub fresh_until: Option<Instant>,
    /// The identities that may use it.
    pub scope: CacheScope,
}

impl CacheHints {
    /// Reads the hints of a page that was received at `now`.
    pub(crate) fn from_page(page: &Value, now: Instant) -> Self {
        // "If `ttlMs` is negative, clients SHOULD ignore it and treat it as `0`" (caching, "Time-to-Live (TTL)
        // Field"). So are missing values and other types.
        let ttl = Duration::from_millis(page.get("ttlMs").and_then(Value::as_u64).unwrap_or(0)).min(MAX_TTL);
        let public = page.get("cacheScope").and_then(Value::as_str) == Some("public");
        let scope = if public { CacheScope::Public } else { CacheScope::Private };
        Self { fresh_until: Some(now + ttl), scope }
    }

    /// Combines the hints of two pages: the earlier end, and private if one is private.
    pub(crate) fn joined(self, other: Self) -> Self {
        let both_public = (self.scope, other.scope) == (CacheScope::Public, CacheScope::Public);
        Self {
            fresh_until: self.fresh_until.min(other.fresh_until),
            scope: if both_public { CacheScope::Public } else { CacheScope::Private },
        }
    }

    /// Whether the list may be used without another request.
    #[must_use]
    pub fn is_fresh(&self, now: Instant) -> bool {
        self.fresh_until.is_some_and(|until| now < until)
    }
}
