//! The tools of a server: reads and caches the list, and tracks changes.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Connection, request::RequestTimeouts};
use crate::{
    catalog::hints::{CacheHints, CacheScope},
    drift::{Drift, Severity, compare},
    error::{CallError, ListError, ListErrorKind},
    event::ClientEventKind,
    fingerprint::Fingerprint,
    pagination::{PageGuard, Step},
    tool::{Collector, Tool, ToolList},
};

/// Number of earlier versions of each tool to keep.
const HISTORY: usize = 8;

/// The known tools of a server.
#[derive(Debug, Default)]
pub(super) struct Listing {
    state: Mutex<State>,
    /// Serializes refreshes, so that an older list cannot replace a newer one.
    refreshing: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    current: Option<Arc<ToolList>>,
    by_name: HashMap<String, Arc<Tool>>,
    /// Earlier versions of changed tools, newest last.
    earlier: HashMap<String, VecDeque<Arc<Tool>>>,
    gone: HashSet<String>,
    /// Number of announced changes when the current list was requested.
    as_of: u64,
    /// Time of the request.
    asked_at: Option<Instant>,
}

impl Listing {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn replace(&mut self, list: Arc<ToolList>, as_of: u64, asked_at: Instant) -> Drift {
        let old = self.current.take().unwrap_or_default();
        let drift = Drift::between(&old.tools, &list.tools);
        let by_name: HashMap<_, _> = list.tools.iter().map(|tool| (tool.name().to_owned(), Arc::clone(tool))).collect();
        for tool in &old.tools {
            match by_name.get(tool.name()) {
                Some(new) if new.fingerprint() == tool.fingerprint() => {}
                successor => {
                    let earlier = self.earlier.entry(tool.name().to_owned()).or_default();
                    if earlier.len() >= HISTORY {
                        earlier.pop_front();
                    }
                    earlier.push_back(Arc::clone(tool));
                    if successor.is_none() {
                        self.gone.insert(tool.name().to_owned());
                    }
                }
            }
        }
        self.gone.retain(|name| !by_name.contains_key(name));
        self.by_name = by_name;
        self.current = Some(list);
        self.as_of = as_of;
        self.asked_at = Some(asked_at);
        drift
    }

    /// Whether a caller that knows the tool as `seen` may call it.
    fn check(&self, name: &str, seen: Option<Fingerprint>) -> Result<(), CallError> {
        let unknown = || CallError::UnknownTool { tool: name.to_owned() };
        let Some(now) = self.by_name.get(name) else {
            // The server rejects calls of tools that were never listed. Calls of removed tools are rejected here.
            let refuse = self.gone.contains(name) || (seen.is_some() && self.current.is_some());
            return if refuse { Err(unknown()) } else { Ok(()) };
        };
        let Some(seen) = seen.filter(|seen| *seen != now.fingerprint()) else { return Ok(()) };
        let stale = |change: String| Err(CallError::Stale { tool: name.to_owned(), change });
        let earlier = self.earlier.get(name).and_then(|all| all.iter().rev().find(|tool| tool.fingerprint() == seen));
        let Some(earlier) = earlier else { return stale("the version of the caller is no longer known".into()) };
        let changes = compare(earlier, now);
        match changes.iter().find(|change| change.severity == Severity::Breaking) {
            Some(change) => stale(change.to_string()),
            None => Ok(()),
        }
    }
}

impl Connection {
    /// The tools of the server. The cached list is used if it is up to date.
    ///
    /// # Errors
    /// If the list cannot be read completely. The error contains what was read; a cached list is kept.
    pub async fn list_tools(&self) -> Result<Arc<ToolList>, ListError> {
        if let Some(list) = self.usable_tools() {
            return Ok(list);
        }
        let asked = Instant::now();
        let _turn = self.inner.listing.refreshing.lock().await;
        // Another caller may have read it in the meantime.
        if let Some(list) = self.usable_tools().or_else(|| self.tools_read_since(asked)) {
            return Ok(list);
        }
        self.read_and_keep().await.map(|(list, _)| list)
    }

    /// Reads the list of tools again, regardless of announced changes.
    ///
    /// # Errors
    /// As [`Self::list_tools`].
    pub async fn refresh(&self) -> Result<Drift, ListError> {
        let _turn = self.inner.listing.refreshing.lock().await;
        self.read_and_keep().await.map(|(_, drift)| drift)
    }

    /// The cached list, if there is one.
    #[must_use]
    pub fn known_tools(&self) -> Option<Arc<ToolList>> {
        self.inner.listing.state().current.clone()
    }

    /// Whether the server announced a change since the list was read.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        let as_of = self.inner.listing.state().as_of;
        self.inner.tracker.tool_changes() != as_of
    }

    /// The tool in the cached list, if no change was announced since the list was read.
    pub(crate) fn current_tool(&self, name: &str) -> Option<Arc<Tool>> {
        let known = self.inner.listing.state().by_name.get(name).cloned();
        known.filter(|_| !self.is_stale())
    }

    /// The cached list, if no change was announced, its time to live has not elapsed, and it is not private to an earlier
    /// authorization ("a different access token requires a different cache", 2026-07-28, caching, "Cache Scope Field").
    fn usable_tools(&self) -> Option<Arc<ToolList>> {
        let asked_at = self.inner.listing.state().asked_at;
        let is_foreign = self.inner.tracker.authorized_at() > asked_at;
        let fresh = |list: &Arc<ToolList>| {
            let may_use = list.hints.scope == CacheScope::Public || !is_foreign;
            !self.rules().caching_hints || may_use && list.hints.is_fresh(Instant::now())
        };
        self.known_tools().filter(|list| !self.is_stale() && fresh(list))
    }

    /// The cached list, if it was requested after this time. It satisfies all callers that waited.
    fn tools_read_since(&self, moment: Instant) -> Option<Arc<ToolList>> {
        if self.is_stale() {
            return None;
        }
        let state = self.inner.listing.state();
        state.current.clone().filter(|_| state.asked_at.is_some_and(|asked_at| asked_at >= moment))
    }

    async fn read_and_keep(&self) -> Result<(Arc<ToolList>, Drift), ListError> {
        self.until_listening().await;
        // Counted first: a change while reading makes the list stale.
        let (as_of, asked_at) = (self.inner.tracker.tool_changes(), Instant::now());
        let first = self.known_tools().is_none();
        match self.read_tools().await {
            Ok(list) => {
                let list = Arc::new(list);
                let drift = self.inner.listing.state().replace(Arc::clone(&list), as_of, asked_at);
                if !first {
                    self.inner.tracker.reporter.report_of_lists(ClientEventKind::Refreshed { drift: drift.clone() });
                }
                Ok((list, drift))
            }
            Err(error) => {
                let (kind, message) = (error.kind().to_owned(), error.kind.to_string());
                self.inner.tracker.reporter.report(|| ClientEventKind::RefreshFailed { kind, message });
                Err(error)
            }
        }
    }

    async fn read_tools(&self) -> Result<ToolList, ListError> {
        if !self.declares_tools() {
            // A client may only use declared capabilities (2025-06-18, lifecycle, "Operation").
            return Ok(ToolList::default());
        }
        let limits = &self.inner.config.limits;
        let mut guard = PageGuard::new(limits.pages, limits.items, self.era());
        let mut collector = Collector::default();
        let mut cursor: Option<String> = None;
        loop {
            let outcome = self.read_page(cursor.take(), &mut guard, &mut collector).await;
            match outcome {
                Ok(Step::Done) => return Ok(collector.finish()),
                Ok(Step::Follow(next)) => cursor = Some(next),
                Err(kind) => {
                    let page = guard.pages().max(1)
                        + usize::from(matches!(&kind, ListErrorKind::Request(_)) && guard.pages() > 0);
                    return Err(ListError { page, kind, so_far: collector.finish() });
                }
            }
        }
    }

    async fn read_page(
        &self,
        cursor: Option<String>,
        guard: &mut PageGuard,
        collector: &mut Collector,
    ) -> Result<Step, ListErrorKind> {
        let params = cursor.map(|cursor| json!({ "cursor": cursor }));
        let timeouts = RequestTimeouts::fixed(self.inner.config.timeouts.request);
        let mut result = self.request("tools/list", params, timeouts).await?;
        let Some(Value::Array(items)) = result.get_mut("tools").map(Value::take) else {
            let detail = "the result has no array `tools`".to_owned();
            return Err(CallError::MalformedResult { detail }.into());
        };
        let (count, room) = (items.len(), guard.room());
        for rejected in collector.take_page(items, room) {
            let (tool, reason) = (rejected.name, rejected.reason);
            self.inner.tracker.reporter.report(|| ClientEventKind::ToolRejected { tool, reason });
        }
        collector.take_hints(CacheHints::from_page(&result, Instant::now()));
        Ok(guard.after_page(count, result.get("nextCursor"))?)
    }

    /// Rejects a call whose caller knows an outdated version, before anything is sent.
    pub(crate) async fn check_view(&self, tool: &str, seen: Option<Fingerprint>) -> Result<(), CallError> {
        let changes = seen.map(|_| self.inner.tracker.tool_changes());
        {
            let state = self.inner.listing.state();
            if changes.is_none_or(|changes| changes == state.as_of) {
                return state.check(tool, seen);
            }
        }
        // If the list cannot be read, the old one is used. The failure was reported as an event.
        if let Err(error) = self.list_tools().await {
            tracing::debug!(%error, "checking against the old list");
        }
        self.inner.listing.state().check(tool, seen)
    }

    /// Whether the server declares tools.
    fn declares_tools(&self) -> bool {
        let greeting = self.inner.tracker.greeting();
        greeting.is_some_and(|greeting| greeting.pointer("/capabilities/tools").is_some_and(Value::is_object))
    }
}
