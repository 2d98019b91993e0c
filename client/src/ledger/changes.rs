//! What the server announces to have changed, and whether it is heard.

use serde_json::Value;
use tokio::sync::watch;

use super::Ledger;
use crate::event::Happening;

impl Ledger {
    /// Whether the server says that it announces changes of these lists: `tools`, `prompts` or `resources`.
    pub(crate) fn announces(&self, lists: &str) -> bool {
        let pointer = format!("/capabilities/{lists}/listChanged");
        self.greeting().is_some_and(|greeting| greeting.pointer(&pointer).and_then(Value::as_bool).unwrap_or(false))
    }

    /// Takes note that the server's tools have changed.
    pub(crate) fn tools_changed(&self) {
        self.tool_changes.send_modify(|count| *count += 1);
        self.reporter.report(|| Happening::ToolsChanged);
    }

    /// Takes note that announcements may have been told to nobody: all that can be announced may have changed.
    pub(crate) fn missed_changes(&self) {
        self.tools_changed();
        if self.announces("prompts") {
            self.reporter.report(|| Happening::PromptsChanged);
        }
        if self.announces("resources") {
            self.reporter.report(|| Happening::ResourcesChanged);
        }
    }

    /// Takes note that the server has acknowledged the subscription to changes, or that there is none to wait for.
    pub(crate) fn listens(&self) {
        self.listening.send_replace(true);
    }

    /// Returns once the subscription to changes stands, or is known not to come.
    pub(crate) async fn until_listening(&self) {
        // The sender lives in `self`, so the only way out is the value.
        let _ = self.listening.subscribe().wait_for(|listening| *listening).await;
    }

    /// How often the tools have changed so far.
    pub(crate) fn tool_changes(&self) -> u64 {
        *self.tool_changes.borrow()
    }

    /// Tells of each change of the tools from now on.
    pub(crate) fn watch_tool_changes(&self) -> watch::Receiver<u64> {
        self.tool_changes.subscribe()
    }
}
