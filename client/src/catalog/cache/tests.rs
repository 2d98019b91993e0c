use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::catalog::hints::{CacheHints, MAX_TTL};

fn key(server: &str, identity: &str) -> CacheKey {
    CacheKey { server: Digest::new([server]), identity: Digest::new([identity]) }
}

fn list(now: Instant, ttl_ms: u64, scope: &str) -> Arc<ToolList> {
    let hints = CacheHints::from_page(&json!({"ttlMs": ttl_ms, "cacheScope": scope}), now);
    Arc::new(ToolList { hints, ..ToolList::default() })
}

#[tokio::test(start_paused = true)]
async fn shows_private_lists_to_nobody_else_and_public_ones_to_all() {
    let (cache, now) = (ToolCache::default(), Instant::now());
    cache.put(&key("s", "ann"), &list(now, 1_000, "private"), now);
    assert!(cache.get(&key("s", "ann"), now).is_some());
    assert!(cache.get(&key("s", "bob"), now).is_none());
    assert!(cache.get(&key("other", "ann"), now).is_none());
    cache.put(&key("s", "ann"), &list(now, 1_000, "public"), now);
    assert!(cache.get(&key("s", "bob"), now).is_some());
    assert!(cache.get(&key("other", "bob"), now).is_none());
    // The list has become private.
    cache.put(&key("s", "ann"), &list(now, 1_000, "private"), now);
    assert!(cache.get(&key("s", "bob"), now).is_none());
    cache.remove_private(&key("s", "ann"));
    assert!(cache.get(&key("s", "ann"), now).is_none());
}

#[tokio::test(start_paused = true)]
async fn a_list_is_fresh_before_its_time_is_over_and_not_a_moment_longer() {
    let (cache, now) = (ToolCache::default(), Instant::now());
    let who = key("s", "ann");
    cache.put(&who, &list(now, 1_000, "private"), now);
    assert!(cache.get(&who, now + Duration::from_millis(999)).is_some());
    assert!(cache.get(&who, now + Duration::from_millis(1_000)).is_none());
    cache.put(&who, &list(now, 0, "private"), now);
    assert!(cache.get(&who, now).is_none());
    let stale = |page: Value| !CacheHints::from_page(&page, now).is_fresh(now);
    assert!(stale(json!({"ttlMs": -5})) && stale(json!({"ttlMs": "1000"})) && stale(json!({})));
    assert!(!CacheHints::from_page(&json!({"ttlMs": u64::MAX}), now).is_fresh(now + MAX_TTL));
}

#[tokio::test(start_paused = true)]
async fn a_list_of_pages_is_as_fresh_and_as_public_as_the_worst_of_them() {
    let now = Instant::now();
    let page = |ttl: u64, scope: &str| CacheHints::from_page(&json!({"ttlMs": ttl, "cacheScope": scope}), now);
    let joined = page(500, "public").joined(page(100, "private"));
    assert_eq!((joined.fresh_until, joined.scope), (Some(now + Duration::from_millis(100)), CacheScope::Private));
    assert_eq!(page(1, "public").joined(page(2, "public")).scope, CacheScope::Public);
    assert!(!page(500, "public").joined(CacheHints::from_page(&json!({}), now)).is_fresh(now));
}

#[tokio::test(start_paused = true)]
async fn keeps_no_more_than_there_is_room_for() {
    let (cache, now) = (ToolCache::default(), Instant::now());
    for n in 0..=CAPACITY as u64 {
        cache.put(&key(&n.to_string(), "ann"), &list(now, 1_000 + n, "private"), now);
    }
    assert!(cache.get(&key("0", "ann"), now).is_none());
    assert!(cache.get(&key("1", "ann"), now).is_some());
}
