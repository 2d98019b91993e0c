//! Servers whose process works on a request for longer than its timeout. The response comes once it is done, which takes longer
//! on a busy machine, so that a timeout alone would give another verdict in each run.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use client::{Pause, process::subtree::ProcessEntry};
use tokio::time::{Instant, timeout};

use super::Peer;

/// Processor time for which a run waits in vain for servers that work, in all its cases together. One that never stops working
/// would take this time in each case.
const IN_VAIN: Duration = Duration::from_secs(60);
/// How often the processes are looked at.
const INTERVAL: Duration = Duration::from_millis(250);

/// Processor time for which a run waited in vain for a server that works. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct VainWork(Arc<AtomicU64>);

impl VainWork {
    /// Adds processor time.
    pub fn add(&self, time: Duration) {
        self.0.fetch_add(u64::try_from(time.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    fn left(&self) -> Duration {
        IN_VAIN.saturating_sub(Duration::from_micros(self.0.load(Ordering::Relaxed)))
    }
}

/// What the main threads of the server's processes did until a time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    at: Instant,
    /// Whether one of them runs or waits for a processor.
    is_runnable: bool,
    /// How long they ran or waited for a processor.
    runnable: Duration,
    /// How long they ran.
    ran: Duration,
}

impl Work {
    /// Whether they work now, or did for most of the time since `before`.
    fn goes_on_since(&self, before: Option<&Self>) -> bool {
        let most = |before: &Self| self.runnable.saturating_sub(before.runnable) > (self.at - before.at) / 2;
        self.is_runnable || before.is_some_and(most)
    }
}

impl Peer {
    /// Counts waits in vain for a server that works together with those of other cases.
    pub(crate) fn counting_in(mut self, vain_work: &VainWork) -> Self {
        self.vain_work = vain_work.clone();
        self
    }

    /// The waits that are longer than their timeouts, because the server works. Other timeouts do not count them.
    pub(crate) fn extra_time(&self) -> &Arc<Pause> {
        &self.extra_time
    }

    /// What the server's processes did so far; `None` if the workbench did not start them, and on systems other than Linux.
    pub(super) async fn work(&self) -> Option<Work> {
        let processes = self.processes().await?;
        let threads: Vec<_> = processes.iter().filter_map(ProcessEntry::main_thread).collect();
        (!threads.is_empty()).then(|| Work {
            at: Instant::now(),
            is_runnable: threads.iter().any(|thread| thread.is_runnable),
            runnable: threads.iter().map(|thread| thread.runnable).sum(),
            ran: threads.iter().map(|thread| thread.ran).sum(),
        })
    }

    /// The output of a future within this time, or later if the server works until then: since `before`, or at the end of the
    /// time.
    pub(super) async fn while_working<T>(
        &self,
        within: Duration,
        mut before: Option<Work>,
        future: impl Future<Output = T>,
    ) -> Option<T> {
        let mut future = pin!(future);
        if let Ok(output) = timeout(within, &mut future).await {
            return Some(output);
        }
        let _extra = self.extra_time.begin();
        let first = self.work().await?;
        let mut now = first;
        while now.goes_on_since(before.as_ref()) && now.ran.saturating_sub(first.ran) < self.vain_work.left() {
            if let Ok(output) = timeout(INTERVAL, &mut future).await {
                return Some(output);
            }
            before = Some(now);
            now = self.work().await?;
        }
        self.vain_work.add(now.ran.saturating_sub(first.ran));
        None
    }
}
