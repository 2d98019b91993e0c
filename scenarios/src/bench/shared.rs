//! State that all tasks of a load test share: the window, the counters and the channel to the recorder.

use std::{
    future::Future,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{Caller, LoadPlan, Progress};

/// A caller that keeps the time limit itself gets this much longer, so that it can cancel the call as its protocol asks.
const LIMIT_GRACE: Duration = Duration::from_millis(250);

/// What the tasks share.
pub(super) struct Shared<C> {
    /// What is called.
    pub(super) caller: C,
    /// How long one call may take, the grace included.
    pub(super) limit: Duration,
    /// The window and the counters.
    pub(super) timing: Arc<Timing>,
    /// The channel to the recorder, which closes when the last task drops it.
    samples: mpsc::UnboundedSender<Sample>,
}

impl<C: Caller> Shared<C> {
    /// The run begins now.
    pub(super) fn new(plan: &LoadPlan, caller: C, samples: mpsc::UnboundedSender<Sample>) -> Self {
        Self { caller, limit: plan.timeout() + LIMIT_GRACE, timing: Arc::new(Timing::new(plan)), samples }
    }

    /// Tells the recorder.
    pub(super) fn send(&self, sample: Sample) {
        // The receiver is gone only if the run was dropped.
        let _ = self.samples.send(sample);
    }
}

/// One counted call that ended.
#[derive(Debug)]
pub(super) struct Sample {
    /// When it was meant to be sent.
    pub(super) intended: Instant,
    /// When it ended.
    pub(super) ended: Instant,
    /// How: an error has its kind, and a call that was given up has none.
    pub(super) outcome: Result<(), Option<String>>,
}

/// The window of a run, and its counters.
pub(super) struct Timing {
    /// When the run began, the warm-up included.
    pub(super) start: Instant,
    /// When counting began.
    pub(super) count_from: Instant,
    /// When it is planned to end.
    planned_end: Instant,
    /// When it was cancelled, if it was.
    stopped_at: OnceLock<Instant>,
    stop: CancellationToken,
    give_up: CancellationToken,
    sent: AtomicU64,
    done: AtomicU64,
    errors: AtomicU64,
}

impl Timing {
    fn new(plan: &LoadPlan) -> Self {
        let start = Instant::now();
        let count_from = start + plan.warmup();
        Self {
            start,
            count_from,
            planned_end: count_from + plan.duration(),
            stopped_at: OnceLock::new(),
            stop: CancellationToken::new(),
            give_up: CancellationToken::new(),
            sent: AtomicU64::new(0),
            done: AtomicU64::new(0),
            errors: AtomicU64::new(0),
        }
    }

    /// Whether a call that is due at this moment is counted.
    pub(super) fn counts(&self, intended: Instant) -> bool {
        (self.count_from..self.end()).contains(&intended)
    }

    /// When the run ended or is to end: nothing is sent from then on.
    pub(super) fn end(&self) -> Instant {
        self.stopped_at.get().map_or(self.planned_end, |stopped| self.planned_end.min(*stopped))
    }

    /// Whether it ended before its time.
    pub(super) fn was_cut(&self) -> bool {
        self.end() < self.planned_end
    }

    /// For how long calls were counted.
    pub(super) fn window(&self) -> Duration {
        self.end().saturating_duration_since(self.count_from)
    }

    /// Nothing more is to be sent.
    pub(super) fn stop_now(&self) {
        self.stopped_at.get_or_init(Instant::now);
        self.stop.cancel();
    }

    /// Calls in flight are no longer waited for.
    pub(super) fn give_up(&self) {
        self.give_up.cancel();
    }

    /// Whether the run has given up the calls in flight.
    pub(super) fn has_given_up(&self) -> bool {
        self.give_up.is_cancelled()
    }

    /// Waits for the future, unless sending ends first.
    pub(super) async fn while_sending<F: Future>(&self, future: F) -> Option<F::Output> {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => None,
            () = tokio::time::sleep_until(self.planned_end) => None,
            output = future => Some(output),
        }
    }

    /// Whether calls may be sent.
    pub(super) fn is_sending(&self) -> bool {
        Instant::now() < self.end()
    }

    /// Waits for the future, unless the run gives up first.
    pub(super) async fn unless_given_up<F: Future>(&self, future: F) -> Option<F::Output> {
        self.give_up.run_until_cancelled(future).await
    }

    /// A call was sent.
    pub(super) fn sent(&self) {
        self.sent.fetch_add(1, Relaxed);
    }

    /// A call ended.
    pub(super) fn done(&self, succeeded: bool) {
        self.errors.fetch_add(u64::from(!succeeded), Relaxed);
        self.done.fetch_add(1, Relaxed);
    }

    /// How far the run is.
    pub(super) fn progress(&self) -> Progress {
        // `done` is read before `sent`, so that a call that ends in between cannot make the difference negative.
        let (errors, done) = (self.errors.load(Relaxed), self.done.load(Relaxed));
        let sent = self.sent.load(Relaxed).max(done);
        Progress { elapsed: self.start.elapsed(), sent, done, errors, in_flight: sent - done }
    }
}
