//! What the client notices: written into the report as it comes, and kept for steps that wait for it.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use client::{ClientEvent, ClientEventKind, EventSink};
use serde_json::{Value, json};
use tokio::sync::{Notify, broadcast::error::RecvError};

use super::report::Report;
use crate::{
    contract::{ReportLine, now_us},
    evidence::ReportedEvent,
    model::EventKind,
};

/// The most events that are kept: a server that sends more has made its point.
const MOST: usize = 5_000;

/// Everything noticed so far, and which of it a step has already waited for.
#[derive(Debug, Clone, Default)]
pub(super) struct Listener {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    noticed: Mutex<Vec<(ReportedEvent, bool)>>,
    more: Notify,
}

impl Listener {
    /// Listens to everything that is sent into this sink from now on.
    pub(super) fn attach(sink: &EventSink, report: Report) -> Self {
        let listener = Self::default();
        let (mut events, shared) = (sink.subscribe(), Arc::clone(&listener.shared));
        tokio::spawn(async move {
            loop {
                match events.recv().await {
                    Ok(event) => shared.take(event, &report),
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return,
                }
            }
        });
        listener
    }

    /// Waits for an event that no step has waited for before, and gives what it says; `None` if none came in time.
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
        let mut all = self.noticed.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST {
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
        let mut all = self.noticed.lock().unwrap_or_else(PoisonError::into_inner);
        let fits =
            |noticed: &ReportedEvent| noticed.event == event && server.is_none_or(|server| noticed.server == server);
        let (noticed, waited_for) = all.iter_mut().find(|(noticed, waited_for)| !waited_for && fits(noticed))?;
        *waited_for = true;
        Some(noticed.detail.clone())
    }
}

/// What the contract calls an event of the client library, if it has a word for it.
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
        _ => return None,
    })
}
