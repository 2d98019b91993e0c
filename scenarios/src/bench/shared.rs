//! State that all tasks of a load test share: the window, the counters and the channel to the recorder.

use std::{
    future::Future,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};

use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    CallFailure, Caller, LoadPlan, Progress,
    iteration::Iterations,
    recent::{LatencyCounts, RecentLatencies, RecentLatency},
};

/// Additional time for callers that apply the timeout themselves and cancel the call.
const LIMIT_GRACE: Duration = Duration::from_millis(250);

/// Number of threads of the raw driver for this many connections: one per core. A thread without a connection has no work.
pub(super) fn threads(connections: usize) -> usize {
    thread::available_parallelism().map_or(1, usize::from).min(connections).max(1)
}

pub(super) struct Shared<C> {
    pub(super) caller: C,
    pub(super) iterations: Arc<Iterations>,
    /// Timeout of one request, including the grace period.
    pub(super) limit: Duration,
    pub(super) timing: Arc<Timing>,
    /// Channel to the recorder; closes when the last task drops it.
    records: mpsc::UnboundedSender<Record>,
}

impl<C: Caller> Shared<C> {
    pub(super) fn new(plan: &LoadPlan, caller: C, records: mpsc::UnboundedSender<Record>) -> Self {
        let iterations = Arc::clone(plan.iterations());
        Self { caller, iterations, limit: plan.timeout() + LIMIT_GRACE, timing: Arc::new(Timing::new(plan)), records }
    }

    pub(super) fn send(&self, record: Record) {
        // The receiver is gone only if the run was dropped.
        let _ = self.records.send(record);
    }
}

/// What ended within the measurement.
#[derive(Debug)]
pub(super) enum Record {
    /// An operation that succeeded, and after which its iteration goes on.
    Step {
        /// Its result.
        row: usize,
        latency: Duration,
    },
    /// An iteration, and its last operation.
    Iteration(Sample),
}

/// A finished iteration within the measurement.
#[derive(Debug)]
pub(super) struct Sample {
    /// Its scheduled time.
    pub(super) intended: Instant,
    pub(super) sent: Instant,
    pub(super) ended: Instant,
    /// The result to which its last operation belongs, and when that operation began.
    pub(super) last: Option<(usize, Instant)>,
    /// The failure of a failed call; `Err(None)` for an abandoned one.
    pub(super) outcome: Result<(), Option<CallFailure>>,
}

/// The window of a run, and its counters.
pub(super) struct Timing {
    /// Start of the warm-up.
    pub(super) start: Instant,
    /// Start of the measurement.
    pub(super) count_from: Instant,
    planned_end: Instant,
    /// Number of measured calls after which the run ends, and the number of the next one.
    calls: Option<u64>,
    next_call: AtomicU64,
    stopped_at: OnceLock<Instant>,
    stop: CancellationToken,
    give_up: CancellationToken,
    sent: AtomicU64,
    done: AtomicU64,
    errors: AtomicU64,
    latencies: LatencyCounts,
}

impl Timing {
    pub(super) fn new(plan: &LoadPlan) -> Self {
        let start = Instant::now();
        let count_from = start + plan.warmup();
        Self {
            start,
            count_from,
            planned_end: count_from + plan.duration(),
            calls: plan.calls(),
            next_call: AtomicU64::new(0),
            stopped_at: OnceLock::new(),
            stop: CancellationToken::new(),
            give_up: CancellationToken::new(),
            sent: AtomicU64::new(0),
            done: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            latencies: LatencyCounts::default(),
        }
    }

    /// Whether a call that is due at this time is measured.
    pub(super) fn counts(&self, intended: Instant) -> bool {
        (self.count_from..self.end()).contains(&intended)
    }

    /// End of the measurement; no calls are sent after it.
    pub(super) fn end(&self) -> Instant {
        self.stopped_at.get().map_or(self.planned_end, |stopped| self.planned_end.min(*stopped))
    }

    /// Whether the run was cancelled.
    pub(super) fn was_cut(&self) -> bool {
        self.end() < self.planned_end && !self.sent_all()
    }

    /// The number of the iteration of a call that is due now. In a run with a limited number of calls, the measured ones are
    /// numbered from 0, and the others with `number` after them. `None` if all were sent.
    pub(super) fn take_call(&self, now: Instant, number: u64) -> Option<u64> {
        match self.calls {
            None => Some(number),
            Some(calls) if !self.counts(now) => Some(calls.saturating_add(number)),
            Some(calls) => Some(self.next_call.fetch_add(1, Relaxed)).filter(|call| *call < calls),
        }
    }

    /// Whether all calls of a run with a limited number of them were sent.
    pub(super) fn sent_all(&self) -> bool {
        self.calls.is_some_and(|calls| self.next_call.load(Relaxed) >= calls)
    }

    /// Duration of the measurement.
    pub(super) fn window(&self) -> Duration {
        self.end().saturating_duration_since(self.count_from)
    }

    /// Duration of the measurement, unless it is cancelled.
    pub(super) fn planned_window(&self) -> Duration {
        self.planned_end.saturating_duration_since(self.count_from)
    }

    /// Stops sending.
    pub(super) fn stop_now(&self) {
        self.stopped_at.get_or_init(Instant::now);
        self.stop.cancel();
    }

    /// Abandons calls in flight.
    pub(super) fn give_up(&self) {
        self.give_up.cancel();
    }

    pub(super) fn has_given_up(&self) -> bool {
        self.give_up.is_cancelled()
    }

    /// Waits for the future until sending stops.
    pub(super) async fn while_sending<F: Future>(&self, future: F) -> Option<F::Output> {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => None,
            () = tokio::time::sleep_until(self.planned_end) => None,
            output = future => Some(output),
        }
    }

    pub(super) fn is_sending(&self) -> bool {
        Instant::now() < self.end()
    }

    /// Waits for the future until calls are abandoned.
    pub(super) async fn unless_given_up<F: Future>(&self, future: F) -> Option<F::Output> {
        self.give_up.run_until_cancelled(future).await
    }

    pub(super) fn sent(&self) {
        self.sent.fetch_add(1, Relaxed);
    }

    /// Counts a call that ended. One that succeeded has a latency.
    pub(super) fn done(&self, latency: Option<Duration>) {
        latency.map_or(&self.errors, |latency| self.latencies.counter(latency)).fetch_add(1, Relaxed);
        self.done.fetch_add(1, Relaxed);
    }

    pub(super) fn progress(&self, recent: &mut RecentLatencies) -> Progress {
        // `done` is read before `sent`, so that the difference is never negative.
        let (errors, done) = (self.errors.load(Relaxed), self.done.load(Relaxed));
        let recent = recent.take([&self.latencies].into_iter());
        self.progress_of(self.sent.load(Relaxed), done, errors, recent)
    }

    /// The time until the end of the measurement, since the start. With a number of calls it is estimated.
    fn expected(&self, elapsed: Duration) -> Duration {
        let planned = self.planned_end.saturating_duration_since(self.start);
        let warmup = self.count_from.saturating_duration_since(self.start);
        match (self.calls, self.next_call.load(Relaxed)) {
            (Some(calls), sent @ 1..) => {
                let left = calls.saturating_sub(sent) as f64 / sent as f64;
                planned.min(elapsed + elapsed.saturating_sub(warmup).mul_f64(left.min(1e6)))
            }
            _ => planned,
        }
    }

    /// The progress with the counters of a driver that counts itself.
    pub(super) fn progress_of(&self, sent: u64, done: u64, errors: u64, recent: Option<RecentLatency>) -> Progress {
        let sent = sent.max(done);
        let elapsed = self.start.elapsed();
        Progress { elapsed, planned: self.expected(elapsed), sent, done, errors, in_flight: sent - done, recent }
    }
}
