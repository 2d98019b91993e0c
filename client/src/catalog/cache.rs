//! Cache of tool lists (2026-07-28, server/utilities/caching).
//!
//! Public lists are shared between all identities, others are kept per identity. If the cache is full, the list that
//! expires first is removed.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::time::Instant;

use super::hints::CacheScope;
use crate::{digest::Digest, tool::ToolList};

/// Maximum number of lists.
const CAPACITY: usize = 256;

/// A server, and the identity that requests from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CacheKey {
    pub(crate) server: Digest,
    pub(crate) identity: Digest,
}

/// A server, and the identity of a private list.
type Key = (Digest, Option<Digest>);

/// Fresh lists by server and identity.
#[derive(Debug, Default)]
pub(crate) struct ToolCache {
    lists: Mutex<HashMap<Key, Arc<ToolList>>>,
}

impl ToolCache {
    fn lists(&self) -> MutexGuard<'_, HashMap<Key, Arc<ToolList>>> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The fresh list that may be used for this identity.
    pub(crate) fn get(&self, key: &CacheKey, now: Instant) -> Option<Arc<ToolList>> {
        let mut lists = self.lists();
        lists.retain(|_, list| list.hints.is_fresh(now));
        let own = lists.get(&(key.server, Some(key.identity)));
        own.or_else(|| lists.get(&(key.server, None))).cloned()
    }

    /// Stores a list, and replaces older lists for this identity.
    pub(crate) fn put(&self, key: &CacheKey, list: &Arc<ToolList>, now: Instant) {
        self.remove(key);
        if !list.hints.is_fresh(now) {
            return;
        }
        let owner = (list.hints.scope == CacheScope::Private).then_some(key.identity);
        let mut lists = self.lists();
        if lists.len() >= CAPACITY
            && let Some(first) = lists.iter().min_by_key(|(_, list)| list.hints.fresh_until).map(|(key, _)| *key)
        {
            lists.remove(&first);
        }
        lists.insert((key.server, owner), Arc::clone(list));
    }

    /// Removes all lists for this identity, public ones included.
    pub(crate) fn remove(&self, key: &CacheKey) {
        let mut lists = self.lists();
        lists.remove(&(key.server, None));
        lists.remove(&(key.server, Some(key.identity)));
    }

    /// Removes the private list of this identity.
    pub(crate) fn remove_private(&self, key: &CacheKey) {
        self.lists().remove(&(key.server, Some(key.identity)));
    }
}

#[cfg(test)]
mod tests;
