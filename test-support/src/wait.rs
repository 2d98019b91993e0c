//! Waiting for a condition, with a timeout.
//!
//! A test that waits too long fails at the line that waits, and names what it expected. Prefer an event (a channel, a
//! `Notify`) and [`within`] where there is one; poll only what cannot be awaited.

use std::{
    fmt::Debug,
    future::Future,
    panic::Location,
    time::{Duration, Instant},
};

/// Timeout of all functions here. It is long enough for a busy machine, because only a failing test waits for it.
pub const TIMEOUT: Duration = Duration::from_secs(15);

const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Waits until the condition is true.
///
/// # Panics
///
/// If it is still false after [`TIMEOUT`].
#[track_caller]
pub fn wait_until(expected: &str, mut condition: impl FnMut() -> bool) -> impl Future<Output = ()> {
    wait_for(expected, move || condition().then_some(()).ok_or("still false"))
}

/// Waits until the probe returns a value.
///
/// Under paused time, the runtime runs all other tasks before the clock moves on.
///
/// # Panics
///
/// If the probe still fails after [`TIMEOUT`]. The message contains its last error.
#[track_caller]
pub fn wait_for<T, E: Debug>(expected: &str, mut probe: impl FnMut() -> Result<T, E>) -> impl Future<Output = T> {
    let caller = Location::caller();
    async move {
        let deadline = tokio::time::Instant::now() + TIMEOUT;
        loop {
            match probe() {
                Ok(value) => return value,
                Err(error) if tokio::time::Instant::now() >= deadline => timed_out(caller, expected, &error),
                Err(_) => tokio::time::sleep(POLL_INTERVAL).await,
            }
        }
    }
}

/// Waits for a future.
///
/// # Panics
///
/// If it has not finished after [`TIMEOUT`].
#[track_caller]
pub fn within<F: Future>(expected: &str, future: F) -> impl Future<Output = F::Output> {
    let caller = Location::caller();
    async move {
        match tokio::time::timeout(TIMEOUT, future).await {
            Ok(value) => value,
            Err(error) => timed_out(caller, expected, &error),
        }
    }
}

/// Blocks the thread until the probe returns a value, for tests without a runtime.
///
/// # Panics
///
/// If the probe still fails after [`TIMEOUT`]. The message contains its last error.
#[track_caller]
pub fn block_for<T, E: Debug>(expected: &str, mut probe: impl FnMut() -> Result<T, E>) -> T {
    let caller = Location::caller();
    let start = Instant::now();
    loop {
        match probe() {
            Ok(value) => return value,
            Err(error) if start.elapsed() >= TIMEOUT => timed_out(caller, expected, &error),
            Err(_) => std::thread::sleep(POLL_INTERVAL),
        }
    }
}

fn timed_out(caller: &Location<'_>, expected: &str, last: &dyn Debug) -> ! {
    panic!("{caller}: timed out after {TIMEOUT:?}; expected: {expected}; last: {last:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn returns_the_first_value() {
        let mut polls = 0;
        let probe = || {
            polls += 1;
            if polls == 3 { Ok("found") } else { Err(()) }
        };
        assert_eq!(wait_for("a third poll", probe).await, "found");
        assert_eq!(within("a ready future", async { 7 }).await, 7);
    }

    #[tokio::test(start_paused = true)]
    #[should_panic(expected = "expected: the moon; last: \"still false\"")]
    async fn fails_with_the_expectation() {
        wait_until("the moon", || false).await;
    }

    #[tokio::test(start_paused = true)]
    #[should_panic(expected = "expected: an end")]
    async fn fails_if_a_future_does_not_finish() {
        within("an end", std::future::pending::<()>()).await;
    }
}
