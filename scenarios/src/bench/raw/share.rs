//! How a load is divided among the threads of the raw driver.

/// The share of a worker in the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Share {
    /// Its number, from 0.
    pub(super) worker: usize,
    /// The number of workers.
    pub(super) workers: usize,
}

impl Share {
    /// The part of a number that belongs to this worker.
    pub(super) fn part(self, total: usize) -> usize {
        total / self.workers + usize::from(self.worker < total % self.workers)
    }
}
