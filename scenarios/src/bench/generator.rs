//! CPU time and lateness of the load generator, and whether it was the limit of a load.

use std::{thread, time::Duration};

use reports::model::Generator;

use super::cpu_clock;

/// Share of a core above which a thread counts as fully used.
const BUSY: f64 = 0.9;

/// Tolerated lateness of the generator; a tenth of the interval between calls is always tolerated.
const LAG: Duration = Duration::from_millis(10);

/// CPU time of the threads that send calls.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct CpuTime {
    /// Number of threads.
    pub(super) threads: usize,
    /// Their sum.
    pub(super) total: Duration,
    /// That of the busiest thread; of all threads if they share their work.
    pub(super) busiest: Duration,
}

impl CpuTime {
    /// CPU time of the calling thread.
    pub(super) fn current_thread() -> Duration {
        cpu_clock::thread()
    }

    /// CPU time of this process.
    pub(super) fn process() -> Duration {
        cpu_clock::process()
    }

    /// One thread that used this time.
    pub(super) fn thread(used: Duration) -> Self {
        Self { threads: 1, total: used, busiest: used }
    }

    /// Threads of a runtime, which share this time.
    pub(super) fn shared(used: Duration) -> Self {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        Self { threads, total: used, busiest: used / u32::try_from(threads).unwrap_or(1) }
    }

    /// Adds another thread.
    pub(super) fn merge(&mut self, other: Self) {
        self.threads += other.threads;
        self.total += other.total;
        self.busiest = self.busiest.max(other.busiest);
    }

    /// The generator in a run of this duration. `rate` is that of an open loop.
    pub(super) fn generator(self, lag: Duration, elapsed: Duration, rate: Option<f64>) -> Generator {
        let share = |used: Duration| if elapsed.is_zero() { 0.0 } else { used.as_secs_f64() / elapsed.as_secs_f64() };
        let late = rate.is_some_and(|rate| lag > allowed_lag(rate));
        Generator {
            threads: self.threads,
            cpu_percent: (share(self.total) * 1_000.0).round() / 10.0,
            saturated: late || share(self.busiest) >= BUSY,
            lag_max_us: u64::try_from(lag.as_micros()).unwrap_or(u64::MAX),
        }
    }
}

/// Tolerated lateness at a rate.
fn allowed_lag(rate: f64) -> Duration {
    LAG.max(Duration::from_secs_f64(0.1 / rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_used_its_core_or_sent_late_was_the_limit() {
        let second = Duration::from_secs(1);
        let half = CpuTime::thread(Duration::from_millis(500));
        assert!(!half.generator(Duration::ZERO, second, None).saturated);
        let mut both = half;
        both.merge(CpuTime::thread(Duration::from_millis(950)));
        let generator = both.generator(Duration::ZERO, second, None);
        assert!(generator.saturated && generator.threads == 2 && generator.cpu_percent > 144.0, "{generator:?}");
        assert!(half.generator(Duration::from_millis(11), second, Some(100.0)).saturated);
        assert!(!half.generator(Duration::from_millis(90), second, Some(1.0)).saturated);
    }
}
