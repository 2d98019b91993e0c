//! The report file with one JSON line per outcome and event, and the events that steps wait for.

use std::{
    fs::{File, OpenOptions},
    io::Write,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::fault::Fault;

/// The report of this process. Clones write to the same file.
#[derive(Clone)]
pub(crate) struct Report {
    /// Absent for a client that does not report.
    file: Option<Arc<File>>,
    /// Whether events are written to the file.
    pub(crate) has_events: bool,
    noticed: Arc<Mutex<Vec<Noticed>>>,
    more: Arc<Notify>,
}

struct Noticed {
    event: &'static str,
    server: String,
    detail: Value,
    /// Whether a step has waited for the event.
    taken: bool,
}

impl Report {
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self { file: Some(Arc::new(file)), ..Self::none() })
    }

    /// No report.
    pub(crate) fn none() -> Self {
        Self { file: None, has_events: true, noticed: Arc::default(), more: Arc::default() }
    }

    /// Reports the outcome of a step, or, without a number, of a connection without a step.
    pub(crate) fn outcome(
        &self,
        step: Option<usize>,
        server: Option<&str>,
        began_us: u64,
        outcome: Result<Value, Fault>,
    ) {
        let outcome = match outcome {
            Ok(value) => json!({ "value": value }),
            Err(fault) => json!({ "error": fault.to_json() }),
        };
        let mut line = json!({ "step": step, "began_us": began_us, "ended_us": now_us(), "outcome": outcome });
        if let Some(server) = server {
            line["server"] = server.into();
        }
        self.write(&json!({ "step": line }));
    }

    /// Reports a step as skipped.
    pub(crate) fn skipped(&self, step: Option<usize>) {
        let outcome = json!({ "skipped": "not supported" });
        let now = now_us();
        self.write(&json!({ "step": { "step": step, "began_us": now, "ended_us": now, "outcome": outcome } }));
    }

    /// Reports that the client reached a `die` step.
    pub(crate) fn die(&self) {
        self.write(&json!({ "die": { "pid": std::process::id() } }));
    }

    /// Reports an event.
    pub(crate) fn event(&self, event: &'static str, server: &str, detail: Value) {
        if self.has_events {
            self.write(&json!({ "event": { "at_us": now_us(), "event": event, "server": server, "detail": detail } }));
        }
        let noticed = Noticed { event, server: server.to_owned(), detail, taken: false };
        self.noticed.lock().unwrap_or_else(PoisonError::into_inner).push(noticed);
        self.more.notify_waiters();
    }

    /// Waits for an event that no earlier step has waited for.
    pub(crate) async fn wait(&self, event: &str, server: Option<&str>, within: Duration) -> Result<Value, Fault> {
        let found = async {
            loop {
                let more = self.more.notified();
                if let Some(detail) = self.take(event, server) {
                    return detail;
                }
                more.await;
            }
        };
        let waited = tokio::time::timeout(within, found).await;
        waited.map_err(|_| Fault::new("timed-out", format!("no `{event}` was noticed within {within:?}")))
    }

    fn take(&self, event: &str, server: Option<&str>) -> Option<Value> {
        let mut all = self.noticed.lock().unwrap_or_else(PoisonError::into_inner);
        let fits =
            |one: &&mut Noticed| !one.taken && one.event == event && server.is_none_or(|server| one.server == server);
        let noticed = all.iter_mut().find(fits)?;
        noticed.taken = true;
        Some(noticed.detail.clone())
    }

    fn write(&self, line: &Value) {
        // One write per line, so that lines do not mix. Without a report, only the frames are judged.
        let Some(file) = &self.file else { return };
        let _ = (&**file).write_all(format!("{line}\n").as_bytes());
    }
}

/// Microseconds of the monotonic clock of the system, as the contract requires.
pub(crate) fn now_us() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let micros = i128::from(now.tv_sec) * 1_000_000 + i128::from(now.tv_nsec) / 1000;
    u64::try_from(micros).unwrap_or(0)
}
