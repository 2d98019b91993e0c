//! The open loop: calls are due at their scheduled times, independent of responses.

use std::sync::Arc;

use tokio::{sync::Semaphore, time::Instant};

use super::{Caller, Generated, LoadPlan, alarm::Alarm, arrivals::Schedule, iterate, shared::Shared};

/// Default maximum number of calls in flight.
pub(super) const DEFAULT_IN_FLIGHT: usize = 10_000;

/// Sends the calls. At the maximum number in flight, the next call waits. Calls that are due meanwhile keep their
/// scheduled times, so the queue needs no memory and the schedule does not shift.
pub(super) async fn generate<C: Caller>(plan: &LoadPlan, shared: Arc<Shared<C>>, mut alarm: impl Alarm) -> Generated {
    let timing = Arc::clone(&shared.timing);
    let mut schedule = plan.schedule(timing.start, (0, 1));
    let places = Arc::new(Semaphore::new(plan.concurrency()));
    let mut generated = Generated::default();
    let mut unblocked = timing.start;
    let next = |schedule: &mut Schedule| schedule.due_after_warmup(timing.count_from, Instant::now());
    while let Some(due) = next(&mut schedule).filter(|due| *due < timing.end()) {
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
        // The warm-up may have ended while the call waited.
        if next(&mut schedule) != Some(due) {
            continue;
        }
        generated.sent += u64::from(timing.counts(due));
        let (shared, number) = (Arc::clone(&shared), schedule.number());
        tokio::spawn(async move {
            iterate(&shared, number, 0, due).await;
            drop(place);
        });
        schedule.advance();
        // A late schedule must not starve the recorder, which runs in the same task.
        tokio::task::coop::consume_budget().await;
    }
    generated.unsent.extend(schedule.unsent(timing.count_from, timing.end()));
    generated.offered = generated.sent + generated.unsent.iter().map(|unsent| unsent.count).sum::<u64>();
    generated
}
