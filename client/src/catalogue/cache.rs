//! Lists of tools that may be shown without asking for them again (2026-07-28, server/utilities/caching).
//!
//! A list that its server marks as public is kept once for everybody who asks that server; any other is kept for the
//! identity alone that was given it. Bounded: the list that goes stale first makes room.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::Instant;

use crate::{digest::Digest, tool::ToolList};

/// How many lists are kept.
const CAPACITY: usize = 256;
/// The longest time for which a list is held to be fresh, whatever its server says: a day.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Who may be shown a result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheScope {
    /// Anybody.
    Public,
    /// Only who asked for it. What is not said to be public counts as this.
    #[default]
    Private,
}

/// What a server said about keeping its list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheHints {
    /// Until when the list is fresh. `None` before anything was read.
    pub fresh_until: Option<Instant>,
    /// Who may be shown it.
    pub scope: CacheScope,
}

impl CacheHints {
    /// Reads the hints of one page that was received at `now`.
    pub(crate) fn of_page(page: &Value, now: Instant) -> Self {
        // "If `ttlMs` is negative, clients SHOULD ignore it and treat it as `0`" (caching, "Time-to-Live (TTL) Field"). What
        // is no integer, or absent, is no better.
        let ttl = Duration::from_millis(page.get("ttlMs").and_then(Value::as_u64).unwrap_or(0)).min(LONGEST);
        let public = page.get("cacheScope").and_then(Value::as_str) == Some("public");
        let scope = if public { CacheScope::Public } else { CacheScope::Private };
        Self { fresh_until: Some(now + ttl), scope }
    }

    /// What holds for a list of which both are pages: it is as fresh as the first of them to go stale, and private if one
    /// of them is.
    pub(crate) fn joined(self, other: Self) -> Self {
        let both_public = (self.scope, other.scope) == (CacheScope::Public, CacheScope::Public);
        Self {
            fresh_until: self.fresh_until.min(other.fresh_until),
            scope: if both_public { CacheScope::Public } else { CacheScope::Private },
        }
    }

    /// Whether the list may be shown without being asked for again.
    #[must_use]
    pub fn is_fresh(&self, now: Instant) -> bool {
        self.fresh_until.is_some_and(|until| now < until)
    }
}

/// Which server is asked, and on whose behalf.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Asker {
    pub(crate) server: Digest,
    pub(crate) identity: Digest,
}

/// Whose list it is: that of everybody, or of one identity.
type Key = (Digest, Option<Digest>);

/// Lists that are fresh, by server and by who may be shown them.
#[derive(Debug, Default)]
pub(crate) struct ToolCache {
    lists: Mutex<HashMap<Key, Arc<ToolList>>>,
}

impl ToolCache {
    fn lists(&self) -> MutexGuard<'_, HashMap<Key, Arc<ToolList>>> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The list that may be shown to this asker, if one is fresh.
    pub(crate) fn get(&self, asker: &Asker, now: Instant) -> Option<Arc<ToolList>> {
        let mut lists = self.lists();
        lists.retain(|_, list| list.hints.is_fresh(now));
        let own = lists.get(&(asker.server, Some(asker.identity)));
        own.or_else(|| lists.get(&(asker.server, None))).cloned()
    }

    /// Keeps a list that this asker was given, in the place of whatever it could have been shown before.
    pub(crate) fn put(&self, asker: &Asker, list: &Arc<ToolList>, now: Instant) {
        self.forget(asker);
        if !list.hints.is_fresh(now) {
            return;
        }
        let owner = (list.hints.scope == CacheScope::Private).then_some(asker.identity);
        let mut lists = self.lists();
        if lists.len() >= CAPACITY
            && let Some(first) = lists.iter().min_by_key(|(_, list)| list.hints.fresh_until).map(|(key, _)| *key)
        {
            lists.remove(&first);
        }
        lists.insert((asker.server, owner), Arc::clone(list));
    }

    /// Forgets whatever this asker could be shown.
    pub(crate) fn forget(&self, asker: &Asker) {
        let mut lists = self.lists();
        lists.remove(&(asker.server, None));
        lists.remove(&(asker.server, Some(asker.identity)));
    }

    /// Forgets what was kept for this asker alone.
    pub(crate) fn forget_private(&self, asker: &Asker) {
        self.lists().remove(&(asker.server, Some(asker.identity)));
    }
}

#[cfg(test)]
mod tests;
