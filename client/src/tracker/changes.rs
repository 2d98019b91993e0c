//! Announcements of changes.

use std::sync::PoisonError;

use serde_json::Value;
use tokio::{sync::watch, time::Instant};

use super::RequestTracker;
use crate::event::ClientEventKind;

impl RequestTracker {
    /// Whether the server declares announcements for this list: `tools`, `prompts` or `resources`.
    pub(crate) fn announces(&self, lists: &str) -> bool {
        let pointer = format!("/capabilities/{lists}/listChanged");
        self.greeting().is_some_and(|greeting| greeting.pointer(&pointer).and_then(Value::as_bool).unwrap_or(false))
    }

    /// Records that the tools changed.
    pub(crate) fn tools_changed(&self) {
        self.tool_changes.send_modify(|count| *count += 1);
        self.reporter.report(|| ClientEventKind::ToolsChanged);
    }

    /// Reports changes of everything that the server could have announced while no subscription was open.
    pub(crate) fn missed_changes(&self) {
        self.tools_changed();
        if self.announces("prompts") {
            self.reporter.report_of_lists(ClientEventKind::PromptsChanged);
        }
        if self.announces("resources") {
            self.reporter.report_of_lists(ClientEventKind::ResourcesChanged);
        }
    }

    /// Records that the subscription to changes is acknowledged, or is not coming.
    pub(crate) fn listens(&self) {
        self.listening.send_replace(true);
    }

    /// Waits until the subscription to changes is acknowledged, or is not coming.
    pub(crate) async fn until_listening(&self) {
        // The sender lives in `self`, so the only way out is the value.
        let _ = self.listening.subscribe().wait_for(|listening| *listening).await;
    }

    /// Records that the subscription to resources is acknowledged.
    pub(crate) fn watches(&self, uris: &[String]) {
        self.watching.send_modify(|all| all.extend(uris.iter().cloned()));
    }

    /// Records that the subscription to a resource has ended.
    pub(crate) fn stops_watching(&self, uri: &str) {
        self.watching.send_if_modified(|all| all.remove(uri));
    }

    /// Waits until the subscription to a resource is acknowledged.
    pub(crate) async fn until_watching(&self, uri: &str) {
        // The sender lives in `self`, so the only way out is the value.
        let _ = self.watching.subscribe().wait_for(|all| all.contains(uri)).await;
    }

    /// Notes that the server rejected an authorization, and the next request has another one.
    pub(crate) fn note_authorization(&self) {
        *self.authorized_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// When the authorization last changed.
    pub(crate) fn authorized_at(&self) -> Option<Instant> {
        *self.authorized_at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of changes so far.
    pub(crate) fn tool_changes(&self) -> u64 {
        *self.tool_changes.borrow()
    }

    /// Receives the number of changes.
    pub(crate) fn watch_tool_changes(&self) -> watch::Receiver<u64> {
        self.tool_changes.subscribe()
    }
}
