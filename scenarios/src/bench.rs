//! The load engine: calls a [`Caller`] with a given load and measures rates, errors and latencies.
//!
//! Latency is measured from the *scheduled* send time. In an open loop that time is fixed before the run
//! (`start + n / rate`), so a stall of the server affects all calls that were due meanwhile, sent or not. In a closed loop
//! a user sends its next call after a response, so a stall is measured once per user (coordinated omission); the result has
//! a warning about this.
//!
//! Two drivers execute loads. [`run`] drives any [`Caller`], as the complete client in [`connect`]: one task owns the
//! histogram, and calls send their samples through a channel, so that a timed call takes no lock. [`raw`] sends encoded
//! requests itself, from threads that share nothing. [`locust`] makes it a worker of a distributed load.

pub(crate) mod abort;
mod alarm;
mod arrivals;
pub mod baseline;
mod closed;
pub mod compare;
pub mod connect;
mod cpu_clock;
mod data;
mod expectation;
mod failure;
mod figures;
mod generator;
mod iteration;
mod latencies;
pub mod locust;
mod notifications;
mod open;
mod operation;
mod plan;
mod rate;
pub(crate) mod raw;
mod recent;
mod recorder;
pub mod search;
mod series;
mod shared;
pub mod statistics;
mod template;
pub mod threshold;
pub(crate) mod usage;
mod warnings;

#[cfg(test)]
mod tests;

use std::{future::Future, sync::Arc, time::Duration};

use reports::model::{LoadResult, OperationResult, ThresholdResult};
use tokio::{
    sync::mpsc,
    time::{Instant, MissedTickBehavior, interval_at, sleep_until},
};
use tokio_util::sync::CancellationToken;

use self::{
    alarm::{Alarm, PreciseAlarm},
    arrivals::Schedule,
    generator::CpuTime,
    iteration::Following,
    operation::OperationRecord,
    recent::RecentLatencies,
    recorder::Recorder,
    shared::{Record, Sample, Shared, Timing},
};
pub use self::{
    expectation::{ResultExpectation, UNEXPECTED_RESULT},
    failure::CallFailure,
    figures::LoadFigures,
    iteration::Position,
    plan::{LoadPlan, PlanError},
    recent::RecentLatency,
    threshold::{Threshold, ThresholdError},
};
use crate::model::Shape;

/// Error kind of a call without a response within its timeout, also for a [`Caller`] with its own timeout. These calls
/// are part of the latencies with the time they waited.
pub const TIMED_OUT: &str = "timed-out";

/// Interval of progress reports.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

/// Grace period of open calls after the run was cancelled.
const CANCEL_GRACE: Duration = Duration::from_secs(1);

/// Makes the requests of a load.
pub trait Caller: Send + Sync + 'static {
    /// Makes a request: the first one of an operation, or that of the next page of a list. Returns the cursor of a further
    /// page.
    ///
    /// # Errors
    ///
    /// The failure. Failures are counted by kind.
    fn call(
        &self,
        at: Position,
        cursor: Option<String>,
    ) -> impl Future<Output = Result<Option<String>, CallFailure>> + Send;
}

/// Progress of a load test, including the warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Since the start of the warm-up.
    pub elapsed: Duration,
    /// The time until the end of the measurement, since the start of the warm-up. Estimated for a number of calls.
    pub planned: Duration,
    /// Calls that were sent.
    pub sent: u64,
    /// Calls that finished, with a result or an error.
    pub done: u64,
    /// Calls that failed.
    pub errors: u64,
    /// Calls that are open.
    pub in_flight: u64,
    /// The latencies of the calls that succeeded since the last report. `None` without such calls.
    pub recent: Option<RecentLatency>,
}

/// Executes a load test, and returns when all calls finished or were abandoned. The caller sets name and transport of the
/// result.
///
/// Reports progress once per second and at the end. When `cancel` is triggered, no more calls are sent, open calls get one
/// more second, and the result covers the completed part, with a warning.
pub async fn run<C: Caller>(
    plan: &LoadPlan,
    caller: C,
    progress: impl FnMut(Progress) + Send,
    cancel: CancellationToken,
) -> LoadResult {
    run_with(plan, caller, PreciseAlarm::new(), progress, cancel).await
}

/// Like [`run`], with the given alarm.
async fn run_with<C: Caller>(
    plan: &LoadPlan,
    caller: C,
    alarm: impl Alarm,
    mut progress: impl FnMut(Progress) + Send,
    cancel: CancellationToken,
) -> LoadResult {
    let (samples, inbox) = mpsc::unbounded_channel();
    let cpu = CpuTime::process();
    let shared = Arc::new(Shared::new(plan, caller, samples));
    let timing = Arc::clone(&shared.timing);
    let work = async { tokio::join!(generate(plan, shared, alarm), Recorder::collect(inbox, &timing)) };
    tokio::pin!(work);
    let mut ticks = interval_at(timing.start + PROGRESS_EVERY, PROGRESS_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut give_up_at = None;
    let mut recent = RecentLatencies::new();
    let (mut generated, recorder) = loop {
        tokio::select! {
            done = &mut work => break done,
            _ = ticks.tick() => progress(timing.progress(&mut recent)),
            () = cancel.cancelled(), if give_up_at.is_none() => {
                timing.stop_now();
                give_up_at = Some(Instant::now() + CANCEL_GRACE);
            }
            () = sleep_until(give_up_at.unwrap_or(timing.start)), if give_up_at.is_some_and(|_| !timing.has_given_up()) => {
                timing.give_up();
            }
        }
    };
    progress(timing.progress(&mut recent));
    generated.cpu = CpuTime::shared(CpuTime::process().saturating_sub(cpu));
    finish(plan, &timing, &generated, recorder)
}

/// The result of a load test, with thresholds and warnings but without name, transport and driver.
fn finish(plan: &LoadPlan, timing: &Timing, generated: &Generated, mut recorder: Recorder) -> LoadResult {
    if timing.sent_all() {
        timing.stop_now();
    }
    // Waiting for the last responses needs no CPU time, so it does not count as elapsed.
    let elapsed = timing.end().min(Instant::now()).saturating_duration_since(timing.start);
    generated.record_unsent(&mut recorder);
    let figures = LoadFigures::new(plan, timing, generated, &recorder);
    let generator = generated.cpu.generator(generated.lag, elapsed, plan.rate());
    let run =
        warnings::Run { plan, figures: &figures, recorder: &recorder, generator: &generator, cut: timing.was_cut() };
    let warnings = warnings::warnings(&run);
    let mut thresholds = Vec::from_iter(rate::check(&run));
    let series = recorder.series.points();
    let notifications = recorder.notifications.result();
    thresholds.extend(plan.thresholds().iter().map(|threshold| {
        let special = threshold.evaluate_series(&series);
        let special = special.or_else(|| threshold.evaluate_notifications(notifications.as_ref()));
        special.unwrap_or_else(|| evaluate(plan, threshold, &figures, &mut recorder))
    }));
    let rows = plan.iterations().rows().iter().enumerate();
    let operations = rows.map(|(row, name)| operation_result(name, recorder.operation(row), &figures)).collect();
    LoadResult {
        name: String::new(),
        transport: String::new(),
        driver: String::new(),
        shape: plan.describe_shape(),
        counted_ms: u64::try_from(figures.window.as_millis()).unwrap_or(u64::MAX),
        offered: figures.offered,
        sent: figures.sent,
        succeeded: figures.succeeded,
        unfinished: figures.unfinished,
        offered_rate: figures.offered_rate(),
        achieved_rate: figures.achieved_rate,
        latency: figures.latency,
        uncorrected: recorder.uncorrected.summary(),
        notifications,
        thresholds,
        warnings,
        errors: recorder.errors,
        error_samples: recorder.samples,
        bytes_sent: recorder.bytes_sent,
        bytes_received: recorder.bytes_received,
        generator: Some(generator),
        interval_ms: u64::try_from(recorder.series.interval().as_millis()).unwrap_or(u64::MAX),
        series,
        histogram: recorder.latencies.buckets(),
        process: None,
        operations,
    }
}

fn operation_result(name: &str, record: &OperationRecord, load: &LoadFigures) -> OperationResult {
    record.result(name, load.for_operation(record).achieved_rate)
}

/// Evaluates a threshold of the load, or of one of its operations.
fn evaluate(plan: &LoadPlan, threshold: &Threshold, load: &LoadFigures, recorder: &mut Recorder) -> ThresholdResult {
    let rows = plan.iterations().rows();
    match threshold.operation().and_then(|name| rows.iter().position(|row| row == name)) {
        Some(row) => {
            let record = recorder.operation(row);
            threshold.evaluate(&load.for_operation(record), |percentile| record.latencies.percentile(percentile))
        }
        None => threshold.evaluate(load, |percentile| recorder.latencies.percentile(percentile)),
    }
}

/// Sends the calls of the plan. Calls may be in flight when it returns.
async fn generate<C: Caller>(plan: &LoadPlan, shared: Arc<Shared<C>>, alarm: impl Alarm) -> Generated {
    match plan.shape() {
        Shape::Open(_) => open::generate(plan, shared, alarm).await,
        Shape::Closed(closed) => closed::generate(closed, shared).await,
    }
}

/// Result of the schedule.
#[derive(Debug, Default)]
struct Generated {
    /// Counted calls that were scheduled until the run stopped.
    offered: u64,
    /// Counted calls that were sent until then.
    sent: u64,
    /// Counted calls that were due and not sent, by worker.
    unsent: Vec<Unsent>,
    /// Maximum delay of the generator itself, without waiting for calls in flight.
    lag: Duration,
    /// CPU time of the generator.
    cpu: CpuTime,
}

/// Consecutive calls that were due and not sent.
#[derive(Debug, Clone)]
struct Unsent {
    /// Position of the first one in the schedule.
    first: f64,
    /// Distance of their positions.
    step: f64,
    /// Their number.
    count: u64,
    schedule: Schedule,
}

impl Generated {
    /// Adds what another worker generated.
    fn merge(&mut self, other: Self) {
        self.offered += other.offered;
        self.sent += other.sent;
        self.unsent.extend(other.unsent);
        self.lag = self.lag.max(other.lag);
        self.cpu.merge(other.cpu);
    }

    /// Records unsent calls with the time they waited: they would have taken at least that long.
    fn record_unsent(&self, recorder: &mut Recorder) {
        let now = Instant::now();
        for unsent in &self.unsent {
            unsent.record(recorder, now);
        }
    }
}

impl Unsent {
    fn record(&self, recorder: &mut Recorder, now: Instant) {
        /// Above this number, one entry represents several calls; the histogram is the same.
        const ENTRIES: u64 = 100_000;
        let entries = self.count.min(ENTRIES);
        let last = (self.count - 1) as f64 * self.step;
        for entry in 0..entries {
            let share = entry as f64 / entries.saturating_sub(1).max(1) as f64;
            let due = self.schedule.time_of_unsent(self.first + last * share);
            let weight = self.count / entries + u64::from(entry < self.count % entries);
            recorder.record_open(now.saturating_duration_since(due), weight);
        }
    }
}

/// Makes the requests of one iteration, each within the timeout of the plan, and sends the samples of its operations and of
/// the iteration.
async fn iterate<C: Caller>(shared: &Shared<C>, iteration: u64, user: u64, intended: Instant) {
    let timing = &shared.timing;
    timing.sent();
    let (sent, counts) = (Instant::now(), timing.counts(intended));
    let mut at = shared.iterations.first(iteration, user);
    let (mut cursor, mut begun) = (None, intended);
    let outcome = loop {
        let limited = tokio::time::timeout(shared.limit, shared.caller.call(at, cursor.take()));
        let response = match timing.unless_given_up(limited).await {
            Some(Ok(response)) => response,
            Some(Err(_)) => Err(CallFailure::new(TIMED_OUT, format!("no response within {:?}", shared.limit))),
            None => break Err(None),
        };
        match shared.iterations.follow(at, response) {
            Following::Page(next, of) => (at, cursor) = (next, Some(of)),
            Following::Step(next) => {
                let ended = Instant::now();
                let row = shared.iterations.row(at.operation).filter(|_| counts);
                row.into_iter().for_each(|row| shared.send(Record::Step { row, latency: ended - begun }));
                (at, begun) = (next, ended);
            }
            Following::End(outcome) => break outcome.map_err(Some),
        }
    };
    timing.done(outcome.is_ok().then(|| intended.elapsed()));
    if counts {
        let last = shared.iterations.row(at.operation).map(|row| (row, begun));
        shared.send(Record::Iteration(Sample { intended, sent, ended: Instant::now(), last, outcome }));
    }
}
