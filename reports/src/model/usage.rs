//! Resources of the server process during a load test.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A local server process with its descendants during a load test, sampled once per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessUsage {
    /// Number of samples.
    pub samples: usize,
    /// Maximum number of processes.
    pub processes_max: u64,
    /// Resident memory in the first sample, in KiB. Pages that processes share count once per process.
    pub rss_first_kb: u64,
    /// Resident memory in the last sample, in KiB.
    pub rss_last_kb: u64,
    /// Maximum of the resident memory, in KiB.
    pub rss_max_kb: u64,
    /// Growth of the resident memory in bytes per minute: a least-squares line. Absent below eight samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rss_growth: Option<Estimate>,
    /// CPU time, in percent of one core.
    pub cpu_percent: f64,
    /// Open file descriptors in the first sample; absent for processes of other users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fds_first: Option<u64>,
    /// Open file descriptors in the last sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fds_last: Option<u64>,
    /// Maximum number of threads.
    pub threads_max: u64,
}

/// An estimate and its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl Estimate {
    /// The estimate in another unit. The function must be increasing.
    #[must_use]
    pub fn map(self, convert: impl Fn(f64) -> f64) -> Self {
        Self { value: convert(self.value), low: convert(self.low), high: convert(self.high) }
    }
}
