//! CPU time and memory of this process, as a master shows them.

use std::{thread, time::Duration};

use client::process::subtree::process;
use tokio::time::Instant;

use crate::bench::generator::CpuTime;

/// CPU usage since the previous heartbeat.
pub(super) struct Usage {
    cores: usize,
    at: Instant,
    used: Duration,
}

impl Usage {
    pub(super) fn new() -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Self { cores, at: Instant::now(), used: CpuTime::process() }
    }

    /// Percentage of all cores since the previous call. Above 90 a master warns that its numbers are wrong.
    pub(super) fn cpu_percent(&mut self) -> f64 {
        let (now, used) = (Instant::now(), CpuTime::process());
        let percent = percent(used.saturating_sub(self.used), now.saturating_duration_since(self.at), self.cores);
        (self.at, self.used) = (now, used);
        percent
    }
}

fn percent(used: Duration, elapsed: Duration, cores: usize) -> f64 {
    let available = elapsed.as_secs_f64() * cores as f64;
    if available > 0.0 { (used.as_secs_f64() / available * 1_000.0).round() / 10.0 } else { 0.0 }
}

/// Memory of this process in bytes; 0 if the system does not report it.
pub(super) fn memory_bytes() -> u64 {
    let own = i32::try_from(std::process::id()).ok().and_then(process);
    own.map_or(0, |entry| entry.resident_kb() * 1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_is_that_of_all_cores_and_memory_is_in_bytes() {
        let second = Duration::from_secs(1);
        assert!((percent(second, second, 2) - 50.0).abs() < 1e-9);
        assert!(percent(second, Duration::ZERO, 2).abs() < 1e-9);
        // A test program has megabytes; in KiB the number would be far below.
        assert!(memory_bytes() > 1_048_576);
    }
}
