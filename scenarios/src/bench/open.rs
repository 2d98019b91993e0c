//! The open loop: calls are due at a fixed rate, independent of responses.

use std::{sync::Arc, time::Duration};

use tokio::{sync::Semaphore, time::Instant};

use super::{Caller, Generated, Unsent, alarm::Alarm, call_once, shared::Shared};
use crate::model::Open;

/// Default maximum number of calls in flight.
pub(super) const DEFAULT_IN_FLIGHT: usize = 10_000;

/// Sends the calls. At the maximum number in flight, the next call waits. Calls that are due meanwhile keep their
/// scheduled times, so the queue needs no memory and the schedule does not shift.
pub(super) async fn generate<C: Caller>(open: &Open, shared: Arc<Shared<C>>, mut alarm: impl Alarm) -> Generated {
    let timing = Arc::clone(&shared.timing);
    let schedule = Schedule::share(timing.start, open.rate, 0, 1);
    let places = Arc::new(Semaphore::new(open.max_in_flight.unwrap_or(DEFAULT_IN_FLIGHT)));
    let mut generated = Generated::default();
    let mut unblocked = timing.start;
    let mut next = 0;
    while schedule.due(next) < timing.end() {
        let due = schedule.due(next);
        if due > Instant::now() && timing.while_sending(alarm.until(due)).await.is_none() {
            break;
        }
        generated.lag = generated.lag.max(Instant::now().saturating_duration_since(due.max(unblocked)));
        let place = match Arc::clone(&places).try_acquire_owned() {
            Ok(place) => place,
            Err(_) => match timing.while_sending(Arc::clone(&places).acquire_owned()).await {
                Some(Ok(place)) => {
                    unblocked = Instant::now();
                    place
                }
                // The semaphore is never closed; the run ended.
                Some(Err(_)) | None => break,
            },
        };
        if !timing.is_sending() {
            break;
        }
        generated.sent += u64::from(timing.counts(due));
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            call_once(&shared, next, due).await;
            drop(place);
        });
        next += 1;
        // A late schedule must not starve the recorder, which runs in the same task.
        tokio::task::coop::consume_budget().await;
    }
    generated.unsent.extend(schedule.unsent(next, timing.count_from, timing.end()));
    generated.offered = generated.sent + generated.unsent.iter().map(|unsent| unsent.count).sum::<u64>();
    generated
}

/// The scheduled times of calls, or of every n-th call.
#[derive(Clone, Copy)]
pub(super) struct Schedule {
    start: Instant,
    /// Calls per second of all shares.
    rate: f64,
    first: u64,
    step: u64,
}

impl Schedule {
    /// The share of one worker of several, which send the calls in turn.
    pub(super) fn share(start: Instant, rate: f64, worker: usize, workers: usize) -> Self {
        Self { start, rate, first: worker as u64, step: workers as u64 }
    }

    /// The number of call `n` of this share among all calls.
    pub(super) fn number(self, n: u64) -> u64 {
        self.first + n * self.step
    }

    /// The scheduled time of call `n` of this share.
    pub(super) fn due(self, n: u64) -> Instant {
        self.start + Duration::from_secs_f64(self.number(n) as f64 / self.rate)
    }

    /// The first call that is due at this time or later.
    fn first_from(self, moment: Instant) -> u64 {
        let calls = moment.saturating_duration_since(self.start).as_secs_f64() * self.rate;
        let guess = ((calls - self.first as f64) / self.step as f64).floor();
        // The estimate has a rounding error, which the comparison corrects. A negative one becomes 0.
        let mut n = (guess as u64).saturating_sub(1);
        while self.due(n) < moment {
            n += 1;
        }
        n
    }

    /// The calls from this number on that were due within the window.
    pub(super) fn unsent(self, next: u64, from: Instant, end: Instant) -> Option<Unsent> {
        let first = next.max(self.first_from(from));
        let after = self.first_from(end);
        (first < after).then(|| Unsent { first: self.due(first), last: self.due(after - 1), count: after - first })
    }
}
