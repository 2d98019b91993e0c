//! Events of the client: written to the report, and kept for `await` steps.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use client::{ClientEvent, ClientEventKind};
use serde_json::{Value, json};
use tokio::sync::{
    Notify,
    broadcast::{Receiver, error::RecvError},
};

use super::report::Report;
use crate::{
    contract::{ReportLine, now_us},
    evidence::ReportedEvent,
    model::EventKind,
};

/// Maximum number of events to keep.
const MAX_EVENTS: usize = 5_000;

/// The events so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Listener {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// The events, each with whether a step has consumed it.
    events: Mutex<Vec<(ReportedEvent, bool)>>,
    more: Notify,
}

impl Listener {
    /// Follows events; `client_event` selects those of the client.
    pub(super) fn attach<E: Clone + Send + 'static>(
        mut events: Receiver<E>,
        report: Report,
        client_event: fn(E) -> Option<ClientEvent>,
    ) -> Self {
        let listener = Self::default();
        let shared = Arc::clone(&listener.shared);
        tokio::spawn(async move {
            loop {
                match events.recv().await {
                    Ok(event) => client_event(event).into_iter().for_each(|event| shared.take(event, &report)),
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return,
                }
            }
        });
        listener
    }

    /// Waits for an event that no step has consumed, and returns its detail; `None` after the timeout.
    pub(super) async fn wait(&self, event: EventKind, server: Option<&str>, within: Duration) -> Option<Value> {
        let found = async {
            loop {
                let more = self.shared.more.notified();
                if let Some(detail) = self.shared.pick(event, server) {
                    return detail;
                }
                more.await;
            }
        };
        tokio::time::timeout(within, found).await.ok()
    }
}

impl Shared {
    fn take(&self, event: ClientEvent, report: &Report) {
        let Some((kind, detail)) = kind(&event.kind) else { return };
        let noticed = ReportedEvent { at_us: now_us(), event: kind, server: event.server, detail };
        let mut all = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_EVENTS {
            return;
        }
        if let Err(error) = report.write(&ReportLine::Event(noticed.clone())) {
            tracing::error!(%error, "an event is not in the report");
        }
        all.push((noticed, false));
        drop(all);
        self.more.notify_waiters();
    }

    fn pick(&self, event: EventKind, server: Option<&str>) -> Option<Value> {
        let mut all = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let fits =
            |noticed: &ReportedEvent| noticed.event == event && server.is_none_or(|server| noticed.server == server);
        let (noticed, waited_for) = all.iter_mut().find(|(noticed, waited_for)| !waited_for && fits(noticed))?;
        *waited_for = true;
        Some(noticed.detail.clone())
    }
}

/// The event of the contract for an event of the client library, if there is one.
fn kind(what: &ClientEventKind) -> Option<(EventKind, Value)> {
    Some(match what {
        ClientEventKind::ToolsChanged => (EventKind::ToolsChanged, Value::Null),
        ClientEventKind::Disconnected { reason } => (EventKind::Disconnected, json!({ "reason": reason })),
        ClientEventKind::Progress { progress, total, message, .. } => {
            (EventKind::Progress, json!({ "progress": progress, "total": total, "message": message }))
        }
        ClientEventKind::Skipped { reason, excerpt } => {
            (EventKind::Garbage, json!({ "reason": reason, "excerpt": excerpt }))
        }
        ClientEventKind::ResourcesChanged => (EventKind::ResourcesChanged, Value::Null),
        ClientEventKind::PromptsChanged => (EventKind::PromptsChanged, Value::Null),
        ClientEventKind::ResourceUpdated { uri } => (EventKind::ResourceUpdated, json!({ "uri": uri })),
        ClientEventKind::Log { level, data } => (EventKind::Log, json!({ "level": level, "data": data })),
        _ => return None,
    })
}
