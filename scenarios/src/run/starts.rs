//! Limits how many clients start at the same time, so that slow interpreters do not delay each other until a time limit.

use std::{
    num::NonZeroUsize,
    sync::atomic::{AtomicBool, Ordering},
    thread::available_parallelism,
    time::Duration,
};

use tokio::sync::{Semaphore, SemaphorePermit};

use super::ClientUnderTest;

/// Time after which a client without a frame no longer holds others up.
const LONGEST: Duration = Duration::from_secs(3);

/// The clients of a run that are starting.
#[derive(Debug)]
pub(super) struct Starts {
    permits: Semaphore,
    /// Whether the last client sent nothing in time, so that no other waits for it.
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
        Self { permits: Semaphore::new(permits), is_silent: AtomicBool::new(false) }
    }

    /// Waits until a client may start.
    pub(super) async fn enter(&self) -> Starting<'_> {
        let permit = self.permits.acquire().await.ok().filter(|_| !self.is_silent.load(Ordering::Relaxed));
        Starting { starts: self, permit }
    }
}

impl Starting<'_> {
    /// The client sent its first frame.
    pub(super) fn finish(&mut self) {
        self.permit = None;
        self.starts.is_silent.store(false, Ordering::Relaxed);
    }

    /// Lets others start if the client has needed this much time.
    pub(super) fn waited(&mut self, time: Duration) {
        if time > LONGEST && self.permit.take().is_some() {
            self.starts.is_silent.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn a_silent_client_does_not_hold_others_up() {
        let starts = Starts { permits: Semaphore::new(1), is_silent: AtomicBool::new(false) };
        let mut first = starts.enter().await;
        assert!(starts.enter().now_or_never().is_none(), "the first client is starting");
        first.waited(Duration::from_secs(1));
        assert!(starts.enter().now_or_never().is_none());
        first.waited(Duration::from_secs(4));
        let _second = starts.enter().now_or_never().expect("the first client is silent");
        assert!(starts.enter().now_or_never().is_some(), "nobody waits for silent clients");
        first.finish();
        let _third = starts.enter().now_or_never().expect("nobody is starting");
        assert!(starts.enter().now_or_never().is_none(), "clients send frames again");
    }
}
