//! What a call tells while it goes on: progress, to whoever asked for it.

use std::time::Duration;

use rmcp::{
    Peer, RoleServer,
    model::{ProgressNotificationParam, ProgressToken},
    service::RequestContext,
};
use tokio::{sync::mpsc, time::timeout};

/// How long a client may take to take a notification. One that takes none costs only what it is told.
const PATIENCE: Duration = Duration::from_secs(2);

/// One step of progress.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Step {
    /// How far.
    pub(crate) done: f64,
    /// Out of how much, where that is known.
    pub(crate) total: Option<f64>,
    /// In words.
    pub(crate) message: String,
}

/// Takes what is told. Cheap to clone; when the last clone is gone, everything is told.
#[derive(Debug, Clone)]
pub(crate) struct Teller(Option<mpsc::UnboundedSender<Step>>);

impl Teller {
    /// A teller to whom nobody listens.
    #[cfg(test)]
    pub(crate) fn deaf() -> Self {
        Self(None)
    }

    #[cfg(test)]
    pub(crate) fn to(sender: mpsc::UnboundedSender<Step>) -> Self {
        Self(Some(sender))
    }

    /// The teller of a request, and what brings its words to the client.
    pub(crate) fn for_request(context: &RequestContext<RoleServer>) -> (Self, Told) {
        match context.meta.get_progress_token() {
            Some(token) => {
                let (sender, inbox) = mpsc::unbounded_channel();
                (Self(Some(sender)), Told(Some(Listener { inbox, token, peer: context.peer.clone() })))
            }
            None => (Self(None), Told(None)),
        }
    }

    /// Tells how far it is. A total that is not known yet is left out.
    pub(crate) fn say(&self, done: f64, total: Option<f64>, message: impl Into<String>) {
        if let Some(sender) = &self.0 {
            // Nobody listens any more, if this fails.
            let _ = sender.send(Step { done, total, message: message.into() });
        }
    }
}

/// What was told, on its way to the client.
pub(crate) struct Told(Option<Listener>);

struct Listener {
    inbox: mpsc::UnboundedReceiver<Step>,
    token: ProgressToken,
    peer: Peer<RoleServer>,
}

impl Told {
    /// Forwards until the last teller is gone.
    pub(crate) async fn forward(self) {
        let Some(Listener { mut inbox, token, peer }) = self.0 else { return };
        let mut last = f64::NEG_INFINITY;
        while let Some(Step { done, total, message }) = inbox.recv().await {
            // "The progress value MUST increase with each notification" (2025-11-25, progress).
            if done <= last {
                continue;
            }
            last = done;
            let mut step = ProgressNotificationParam::new(token.clone(), done).with_message(message);
            step.total = total;
            if !matches!(timeout(PATIENCE, peer.notify_progress(step)).await, Ok(Ok(()))) {
                return;
            }
        }
    }
}
