//! Progress notifications of running tool calls. They are sent only if the request carries a `progressToken`.

use std::time::Duration;

use rmcp::{
    Peer, RoleServer,
    model::{ProgressNotificationParam, ProgressToken},
    service::RequestContext,
};
use tokio::{sync::mpsc, time::timeout};

/// Timeout for sending one progress notification. After a timeout the call continues without progress.
const SEND_TIMEOUT: Duration = Duration::from_secs(2);

/// A progress update.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ProgressUpdate {
    /// Completed amount.
    pub(crate) done: f64,
    /// Total amount, if known.
    pub(crate) total: Option<f64>,
    /// Description for users.
    pub(crate) message: String,
}

/// Sends progress updates of one tool call. Clones share a channel, which closes when the last clone is dropped.
#[derive(Debug, Clone)]
pub(crate) struct ProgressReporter(Option<mpsc::UnboundedSender<ProgressUpdate>>);

impl ProgressReporter {
    /// A reporter that discards updates.
    pub(crate) fn disabled() -> Self {
        Self(None)
    }

    #[cfg(test)]
    pub(crate) fn with_sender(sender: mpsc::UnboundedSender<ProgressUpdate>) -> Self {
        Self(Some(sender))
    }

    /// Creates the reporter of a request, and the forwarder that sends its updates to the client.
    pub(crate) fn for_request(context: &RequestContext<RoleServer>) -> (Self, ProgressForwarder) {
        match context.meta.get_progress_token() {
            Some(token) => {
                let (sender, inbox) = mpsc::unbounded_channel();
                (Self(Some(sender)), ProgressForwarder(Some(Listener { inbox, token, peer: context.peer.clone() })))
            }
            None => (Self(None), ProgressForwarder(None)),
        }
    }

    /// Queues an update without blocking. `total` is `None` while it is unknown.
    pub(crate) fn report(&self, done: f64, total: Option<f64>, message: impl Into<String>) {
        if let Some(sender) = &self.0 {
            // The forwarder stops after a send timeout, so a closed channel is expected.
            let _ = sender.send(ProgressUpdate { done, total, message: message.into() });
        }
    }
}

/// Receives queued updates and sends them as `notifications/progress`.
pub(crate) struct ProgressForwarder(Option<Listener>);

struct Listener {
    inbox: mpsc::UnboundedReceiver<ProgressUpdate>,
    token: ProgressToken,
    peer: Peer<RoleServer>,
}

impl ProgressForwarder {
    /// Runs until the last reporter is dropped or a send fails. Skips updates that do not increase `progress`.
    pub(crate) async fn forward(self) {
        let Some(Listener { mut inbox, token, peer }) = self.0 else { return };
        let mut last = f64::NEG_INFINITY;
        while let Some(ProgressUpdate { done, total, message }) = inbox.recv().await {
            // "The progress value MUST increase with each notification" (2025-11-25, progress).
            if done <= last {
                continue;
            }
            last = done;
            let mut step = ProgressNotificationParam::new(token.clone(), done).with_message(message);
            step.total = total;
            if !matches!(timeout(SEND_TIMEOUT, peer.notify_progress(step)).await, Ok(Ok(()))) {
                return;
            }
        }
    }
}
