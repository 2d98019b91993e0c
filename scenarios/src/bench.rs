//! The load engine: puts a load on whatever can be called, and says how it took it.
//!
//! Latency counts from the moment at which a call was *meant* to be sent. In an open loop that moment is fixed before
//! the run (`start + n / rate`), so a server that stalls pays for every call that fell due meanwhile, whether or not
//! it could be sent. In a closed loop nobody is due while a user waits, so there the moment is that of the sending and
//! a stall is seen once per user (coordinated omission); the result warns of it.
//!
//! This module owns the schedule, the measuring and the judging of thresholds. It knows nothing of MCP apart from
//! [`connect`], prints nothing, and never reads a file. One task owns the histogram; calls send it their samples
//! through a channel, so that nothing is locked while a call is timed.

mod alarm;
mod closed;
pub mod connect;
mod figures;
mod open;
mod plan;
mod recorder;
mod shared;
pub mod threshold;
mod warnings;

#[cfg(test)]
mod tests;

use std::{future::Future, sync::Arc, time::Duration};

use reports::model::LoadResult;
use tokio::{
    sync::mpsc,
    time::{Instant, MissedTickBehavior, interval_at, sleep_until},
};
use tokio_util::sync::CancellationToken;

use self::{
    alarm::{Alarm, PreciseAlarm},
    recorder::{Recorder, Sample},
    shared::Shared,
};
pub use self::{
    figures::LoadFigures,
    plan::{LoadPlan, PlanError},
    threshold::{Threshold, ThresholdError},
};
use crate::model::Shape;

/// The kind of error of a call that was not answered within the time limit. A [`Caller`] that keeps the limit itself
/// uses this word too: such calls enter the latencies at their age.
pub const TIMED_OUT: &str = "timed-out";

/// How often progress is told.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

/// How long calls in flight may go on after the run was cancelled.
const CANCEL_GRACE: Duration = Duration::from_secs(1);

/// Whatever can be called again and again.
pub trait Caller: Send + Sync + 'static {
    /// Makes call number `n`, counted from 0.
    ///
    /// # Errors
    ///
    /// The kind of the error: a short, stable word. Errors are counted by it.
    fn call(&self, n: u64) -> impl Future<Output = Result<(), String>> + Send;
}

/// How far a run is; the warm-up is included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Since the start of the warm-up.
    pub elapsed: Duration,
    /// Calls that were sent.
    pub sent: u64,
    /// Calls that ended, however they ended.
    pub done: u64,
    /// Calls that ended with an error.
    pub errors: u64,
    /// Calls that are open.
    pub in_flight: u64,
}

/// Puts the load on the caller, and returns when every call ended or was given up. The name and the transport of the
/// result are left for whoever knows them.
///
/// Progress is told once a second and once at the end. When `cancel` is triggered, nothing more is sent, calls in
/// flight get one more second, and the result covers the part that was run (with a warning that says so).
pub async fn run<C: Caller>(
    plan: &LoadPlan,
    caller: C,
    progress: impl FnMut(Progress) + Send,
    cancel: CancellationToken,
) -> LoadResult {
    run_with(plan, caller, PreciseAlarm::new(), progress, cancel).await
}

/// The same, woken by the given alarm.
async fn run_with<C: Caller>(
    plan: &LoadPlan,
    caller: C,
    alarm: impl Alarm,
    mut progress: impl FnMut(Progress) + Send,
    cancel: CancellationToken,
) -> LoadResult {
    let (samples, inbox) = mpsc::unbounded_channel();
    let shared = Arc::new(Shared::new(plan, caller, samples));
    let timing = Arc::clone(&shared.timing);
    let work = async { tokio::join!(generate(plan, shared, alarm), Recorder::collect(inbox, &timing)) };
    tokio::pin!(work);
    let mut ticks = interval_at(timing.start + PROGRESS_EVERY, PROGRESS_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut give_up_at = None;
    let (generated, mut recorder) = loop {
        tokio::select! {
            done = &mut work => break done,
            _ = ticks.tick() => progress(timing.progress()),
            () = cancel.cancelled(), if give_up_at.is_none() => {
                timing.stop_now();
                give_up_at = Some(Instant::now() + CANCEL_GRACE);
            }
            () = sleep_until(give_up_at.unwrap_or(timing.start)), if give_up_at.is_some_and(|_| !timing.gave_up()) => {
                timing.give_up();
            }
        }
    };
    progress(timing.progress());
    generated.record_unsent(&mut recorder);
    let figures = LoadFigures::new(plan, &timing, &generated, &recorder);
    figures.into_result(plan, &timing, &generated, recorder)
}

/// Begins the calls of the plan. Returns when no more are to be begun; those in flight may still be.
async fn generate<C: Caller>(plan: &LoadPlan, shared: Arc<Shared<C>>, alarm: impl Alarm) -> Generated {
    match plan.shape() {
        Shape::Open(open) => open::generate(open, shared, alarm).await,
        Shape::Closed(closed) => closed::generate(closed, shared).await,
    }
}

/// What became of the schedule.
#[derive(Debug, Default)]
struct Generated {
    /// Counted calls that the plan asked for until the run stopped.
    offered: u64,
    /// Counted calls that were sent until then.
    sent: u64,
    /// Counted calls that fell due and were not sent: the moments at which they were due.
    unsent: Option<Unsent>,
    /// How late the generator itself was at most, waiting for a free place apart.
    lag: Duration,
}

/// Calls that fell due one after another, and were not sent.
#[derive(Debug, Clone, Copy)]
struct Unsent {
    /// When the first fell due.
    first: Instant,
    /// When the last fell due.
    last: Instant,
    /// How many.
    count: u64,
}

impl Generated {
    /// Enters the calls that were never sent at their age: they would have taken at least so long.
    fn record_unsent(&self, recorder: &mut Recorder) {
        /// With more of them, one stands for several: a histogram cannot tell the difference.
        const ENTRIES: u64 = 100_000;
        let Some(Unsent { first, last, count }) = self.unsent else { return };
        let now = Instant::now();
        let entries = count.min(ENTRIES);
        for entry in 0..entries {
            let share = entry as f64 / entries.saturating_sub(1).max(1) as f64;
            let due = first + last.saturating_duration_since(first).mul_f64(share);
            let weight = count / entries + u64::from(entry < count % entries);
            recorder.record_open(now.saturating_duration_since(due), weight);
        }
    }
}

/// One call, from its sending to its sample. It never outlives the plan's time limit.
async fn call_once<C: Caller>(shared: &Shared<C>, n: u64, intended: Instant) {
    let timing = &shared.timing;
    timing.sent();
    let limited = tokio::time::timeout(shared.limit, shared.caller.call(n));
    let outcome = match timing.unless_given_up(limited).await {
        Some(Ok(Ok(()))) => Ok(()),
        Some(Ok(Err(kind))) => Err(Some(kind)),
        Some(Err(_)) => Err(Some(TIMED_OUT.to_owned())),
        None => Err(None),
    };
    timing.done(outcome.is_ok());
    if timing.counts(intended) {
        shared.tell(Sample { intended, ended: Instant::now(), outcome });
    }
}
