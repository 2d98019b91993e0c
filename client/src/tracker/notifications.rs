//! Notifications of servers.

use rmcp::model::ServerNotification;

use super::RequestTracker;
use crate::event::ClientEventKind;

/// The user has visited a URL (2025-11-25, elicitation).
const ELICITATION_COMPLETE: &str = "notifications/elicitation/complete";

impl RequestTracker {
    /// Handles a notification.
    pub(crate) fn on_notification(&self, notification: ServerNotification) {
        match notification {
            ServerNotification::ProgressNotification(progress) => {
                let params = progress.params;
                if let Some(request) = self.by_token(&params.progress_token) {
                    request.progress.touch();
                    if let Some(call) = request.call {
                        self.reporter.report(|| ClientEventKind::Progress {
                            call,
                            progress: params.progress,
                            total: params.total,
                            message: params.message,
                        });
                    }
                }
            }
            ServerNotification::ToolListChangedNotification(_) => self.tools_changed(),
            ServerNotification::PromptListChangedNotification(_) => {
                self.reporter.report_of_lists(ClientEventKind::PromptsChanged);
            }
            ServerNotification::ResourceListChangedNotification(_) => {
                self.reporter.report_of_lists(ClientEventKind::ResourcesChanged);
            }
            ServerNotification::ResourceUpdatedNotification(updated) => {
                let uri = updated.params.uri;
                self.reporter.report(|| ClientEventKind::ResourceUpdated { uri });
            }
            // A subscription to a resource does not affect lists.
            ServerNotification::SubscriptionsAcknowledgedNotification(acknowledged)
                if acknowledged.params.notifications.resource_subscriptions.is_some() =>
            {
                self.watches(&acknowledged.params.notifications.resource_subscriptions.unwrap_or_default());
            }
            ServerNotification::SubscriptionsAcknowledgedNotification(_) => self.listens(),
            ServerNotification::CustomNotification(other) if other.method == ELICITATION_COMPLETE => {
                let id = other.params.as_ref().and_then(|params| params.get("elicitationId")?.as_str());
                if let Some(id) = id.filter(|id| self.elicitations.end(id)) {
                    self.reporter.report(|| ClientEventKind::ElicitationCompleted { elicitation_id: id.to_owned() });
                }
            }
            ServerNotification::LoggingMessageNotification(log) => {
                // 2026-07-28 deprecates the typed fields; their JSON is the same in all revisions.
                let mut params = serde_json::to_value(log.params).unwrap_or_default();
                let level = params.get("level").and_then(|level| level.as_str()).unwrap_or_default().to_owned();
                let data = params.get_mut("data").map(serde_json::Value::take).unwrap_or_default();
                self.reporter.report(|| ClientEventKind::Log { level, data });
            }
            other => tracing::debug!(?other, "unused notification"),
        }
    }
}
