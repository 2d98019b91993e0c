//! Limits how many clients start at the same time, so that slow interpreters do not delay each other until a time limit.

use std::{
    num::NonZeroUsize,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread::available_parallelism,
    time::Duration,
};

use tokio::sync::{Semaphore, SemaphorePermit};

use super::ClientUnderTest;

/// Time after which a client without a frame no longer holds others up, once a client sent one. Slower starts lengthen it.
const LONGEST: Duration = Duration::from_secs(3);
/// The same before any client of the run sent a frame: an interpreter on a busy machine needs seconds to start. After it the
/// clients of the run count as silent.
const FIRST: Duration = Duration::from_secs(8);
/// How much longer than the slowest start so far a start may take.
const MARGIN: u32 = 3;

/// The clients of a run that are starting.
#[derive(Debug)]
pub(super) struct Starts {
    permits: Semaphore,
    /// The slowest start so far, in microseconds; 0 if no client sent a frame.
    slowest_us: AtomicU64,
    /// Whether the clients of the run send nothing, so that no one waits for them.
    is_silent: AtomicBool,
}

/// A client that is starting, until its first frame.
pub(super) struct Starting<'s> {
    starts: &'s Starts,
    permit: Option<SemaphorePermit<'s>>,
}

impl Starts {
    /// Two external clients for each core; the built-in client starts fast.
    pub(super) fn new(client: &ClientUnderTest) -> Self {
        let cores = available_parallelism().map_or(1, NonZeroUsize::get);
        let permits = match client {
            ClientUnderTest::BuiltIn => Semaphore::MAX_PERMITS,
            ClientUnderTest::External { .. } => 2 * cores,
        };
        Self::with_permits(permits)
    }

    fn with_permits(permits: usize) -> Self {
        Self { permits: Semaphore::new(permits), slowest_us: AtomicU64::new(0), is_silent: AtomicBool::new(false) }
    }

    /// The slowest start so far.
    pub(super) fn slowest(&self) -> Duration {
        Duration::from_micros(self.slowest_us.load(Ordering::Relaxed))
    }

    /// How long a start holds others up.
    fn longest(&self) -> Duration {
        match self.slowest() {
            Duration::ZERO => FIRST,
            slowest => LONGEST.max(slowest * MARGIN),
        }
    }

    /// Waits until a client may start.
    pub(super) async fn enter(&self) -> Starting<'_> {
        let permit = self.permits.acquire().await.ok().filter(|_| !self.is_silent.load(Ordering::Relaxed));
        Starting { starts: self, permit }
    }
}

impl Starting<'_> {
    /// The client sent its first frame after this time.
    pub(super) fn finish(&mut self, time: Duration) {
        self.permit = None;
        let us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX).max(1);
        self.starts.slowest_us.fetch_max(us, Ordering::Relaxed);
        self.starts.is_silent.store(false, Ordering::Relaxed);
    }

    /// Lets another client start if this one has needed so much time.
    pub(super) fn waited(&mut self, time: Duration) {
        if time > self.starts.longest() && self.permit.take().is_some() {
            let has_begun = self.starts.slowest_us.load(Ordering::Relaxed) > 0;
            self.starts.is_silent.store(!has_begun, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test]
    async fn silent_clients_do_not_hold_others_up() {
        let starts = Starts::with_permits(1);
        let mut first = starts.enter().await;
        assert!(starts.enter().now_or_never().is_none(), "the first client is starting");
        first.waited(7 * SECOND);
        assert!(starts.enter().now_or_never().is_none());
        first.waited(9 * SECOND);
        let _second = starts.enter().now_or_never().expect("the first client is silent");
        assert!(starts.enter().now_or_never().is_some(), "nobody waits for silent clients");
        first.finish(10 * SECOND);
        let _third = starts.enter().now_or_never().expect("nobody is starting");
        assert!(starts.enter().now_or_never().is_none(), "clients send frames again");
    }

    #[tokio::test]
    async fn a_slow_start_lets_one_other_start() {
        let starts = Starts::with_permits(1);
        starts.enter().await.finish(2 * SECOND);
        let mut slow = starts.enter().await;
        slow.waited(5 * SECOND);
        assert!(starts.enter().now_or_never().is_none(), "the other start took 2 s");
        slow.waited(7 * SECOND);
        let _other = starts.enter().now_or_never().expect("one more may start");
        assert!(starts.enter().now_or_never().is_none(), "and not all");
    }
}
