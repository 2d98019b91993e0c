//! Pauses timeouts: all those of a connection while the user is asked.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

/// Pauses of timeouts: the number of current ones, and their total duration.
#[derive(Debug)]
pub struct Pause {
    state: Mutex<State>,
    changed: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct State {
    since: Option<Instant>,
    total: Duration,
}

/// A pause, which ends on drop.
#[derive(Debug)]
pub struct Paused<'a>(&'a Pause);

/// The timeout elapsed.
#[derive(Debug)]
pub struct Elapsed;

impl Default for Pause {
    fn default() -> Self {
        Self { state: Mutex::default(), changed: watch::Sender::new(0) }
    }
}

impl Pause {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Pauses timeouts until the guard is dropped.
    #[must_use]
    pub fn begin(&self) -> Paused<'_> {
        self.changed.send_modify(|count| {
            *count += 1;
            self.state().since.get_or_insert_with(Instant::now);
        });
        Paused(self)
    }

    /// Duration of all past pauses; `None` during a pause.
    pub(crate) fn spent(&self) -> Option<Duration> {
        let state = self.state();
        state.since.is_none().then_some(state.total)
    }

    /// Duration of all pauses, including the current one.
    #[must_use]
    pub fn so_far(&self) -> Duration {
        let state = self.state();
        state.total + state.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Receives the number of current pauses.
    pub(crate) fn watch(&self) -> watch::Receiver<usize> {
        self.changed.subscribe()
    }

    /// Runs a future with a timeout that excludes pauses.
    ///
    /// # Errors
    /// If the timeout elapsed.
    pub async fn timeout<T>(&self, limit: Duration, work: impl Future<Output = T>) -> Result<T, Elapsed> {
        let before = self.state().total;
        let begun = Instant::now();
        let mut changed = self.changed.subscribe();
        let expired = async {
            loop {
                // The sender lives in `self`.
                let _ = changed.wait_for(|count| *count == 0).await;
                let paused = self.state().total.saturating_sub(before);
                let deadline = begun + limit + paused;
                if deadline <= Instant::now() {
                    return;
                }
                tokio::select! {
                    () = sleep_until(deadline) => {}
                    _ = changed.changed() => {}
                }
            }
        };
        tokio::select! {
            biased;
            done = work => Ok(done),
            () = expired => Err(Elapsed),
        }
    }
}

impl Drop for Paused<'_> {
    fn drop(&mut self) {
        let pause = self.0;
        pause.changed.send_modify(|count| {
            *count -= 1;
            if *count == 0 {
                let mut state = pause.state();
                if let Some(since) = state.since.take() {
                    state.total += since.elapsed();
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_pause_does_not_count() {
        let pause = Pause::default();
        let work = async {
            sleep(Duration::from_secs(1)).await;
            let paused = pause.begin();
            sleep(Duration::from_secs(600)).await;
            drop(paused);
            sleep(Duration::from_secs(1)).await;
        };
        assert!(pause.timeout(Duration::from_secs(3), work).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn time_after_a_pause_counts() {
        let pause = Pause::default();
        let begun = Instant::now();
        let work = async {
            let paused = pause.begin();
            sleep(Duration::from_secs(5)).await;
            drop(paused);
            std::future::pending::<()>().await;
        };
        assert!(pause.timeout(Duration::from_secs(3), work).await.is_err());
        assert_eq!(begun.elapsed(), Duration::from_secs(8));
    }
}
