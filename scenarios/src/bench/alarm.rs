//! Precise timers. Tokio's timer has a resolution of one millisecond, longer than many calls over a pipe. A separate
//! thread sleeps for the rest; the system wakes it within about 50 microseconds.

use std::{future::Future, sync::mpsc, thread, time::Duration};

use tokio::{
    sync::oneshot,
    time::{Instant, sleep_until},
};

/// Maximum lateness of tokio's timer; the thread starts to wait this long before.
const LAST_STRETCH: Duration = Duration::from_millis(3);

/// Wakes a task at a point in time.
pub(super) trait Alarm: Send {
    /// Returns at the time or shortly after, never before.
    fn until(&mut self, moment: Instant) -> impl Future<Output = ()> + Send;
}

/// An alarm with a lateness of microseconds.
pub(super) struct PreciseAlarm {
    /// `None` if no thread could be started; then tokio's timer is used, and the lag is reported.
    thread: Option<mpsc::Sender<(Instant, oneshot::Sender<()>)>>,
}

impl PreciseAlarm {
    /// Starts the thread, which exits when the alarm is dropped.
    pub(super) fn new() -> Self {
        let (orders, inbox) = mpsc::channel::<(Instant, oneshot::Sender<()>)>();
        let ring = move || {
            for (moment, bell) in inbox {
                let mut left = moment.saturating_duration_since(Instant::now());
                while !left.is_zero() {
                    thread::sleep(left);
                    left = moment.saturating_duration_since(Instant::now());
                }
                // The receiver is gone if the run was cancelled.
                let _ = bell.send(());
            }
        };
        let thread = thread::Builder::new().name("load-alarm".to_owned()).spawn(ring);
        Self { thread: thread.is_ok().then_some(orders) }
    }
}

impl Alarm for PreciseAlarm {
    async fn until(&mut self, moment: Instant) {
        let Some(thread) = &self.thread else { return sleep_until(moment).await };
        if let Some(early) = moment.checked_sub(LAST_STRETCH)
            && early > Instant::now()
        {
            sleep_until(early).await;
        }
        let (bell, rung) = oneshot::channel();
        if thread.send((moment, bell)).is_err() || rung.await.is_err() {
            sleep_until(moment).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn never_rings_before_the_moment() {
        let mut alarm = PreciseAlarm::new();
        for micros in [0, 1, 150, 999, 4_321] {
            let moment = Instant::now() + Duration::from_micros(micros);
            alarm.until(moment).await;
            assert!(Instant::now() >= moment, "{micros} us");
        }
    }
}
