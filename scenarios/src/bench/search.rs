//! Search for the highest rate that meets the thresholds: doubling until a rate fails, then bisection.

use reports::model::LoadResult;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the format of [`RateSearchReport`].
pub const FORMAT: u32 = 1;

/// A search in progress.
#[derive(Debug, Clone)]
pub struct RateSearch {
    from: f64,
    to: f64,
    precision: f64,
    /// The highest rate that passed.
    passed: Option<f64>,
    /// The lowest rate that failed.
    failed: Option<f64>,
    /// Whether the lowest rate above `passed` failed once, and is tried again.
    repeats: Option<f64>,
}

/// A search that cannot start.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SearchError {
    /// The range is empty.
    #[error("the range is from {from}/s to {to}/s, but must rise, from more than 0")]
    Range {
        /// The lowest rate.
        from: f64,
        /// The highest rate.
        to: f64,
    },
    /// The precision is out of range.
    #[error("the precision is {percent} %, but must be from 1 % to 50 %")]
    Precision {
        /// The precision, in percent.
        percent: f64,
    },
}

impl RateSearch {
    /// A search from a rate to another one, in calls per second. It stops when the limit is known up to the precision: 5 %
    /// is 0.05.
    ///
    /// # Errors
    /// If the range is empty, or the precision out of range.
    pub fn new(from: f64, to: f64, precision: f64) -> Result<Self, SearchError> {
        if !(from > 0.0 && from < to && to.is_finite()) {
            return Err(SearchError::Range { from, to });
        }
        if !(0.01..=0.5).contains(&precision) {
            return Err(SearchError::Precision { percent: precision * 100.0 });
        }
        Ok(Self { from, to, precision, passed: None, failed: None, repeats: None })
    }

    /// The next rate to try. `None` after the last one.
    #[must_use]
    pub fn next_rate(&self) -> Option<f64> {
        if self.repeats.is_some() {
            return self.repeats;
        }
        match (self.passed, self.failed) {
            (None, None) => Some(self.from),
            (None, Some(_)) => None,
            (Some(passed), None) => (passed < self.to).then(|| (passed * 2.0).min(self.to)),
            (Some(passed), Some(failed)) => {
                let is_known = failed / passed - 1.0 <= self.precision;
                // The geometric mean: the precision is relative.
                (!is_known).then(|| round((passed * failed).sqrt()).clamp(passed, failed))
            }
        }
    }

    /// Records whether the rate of [`Self::next_rate`] met the thresholds. A failed rate is tried once more, because a
    /// single disturbance at a low rate would end the search there.
    pub fn record(&mut self, rate: f64, passed: bool) {
        let repeated = self.repeats.take().is_some();
        match (passed, repeated) {
            (true, _) => self.passed = Some(rate),
            (false, false) => self.repeats = Some(rate),
            (false, true) => self.failed = Some(rate),
        }
    }

    /// The highest rate that met the thresholds.
    #[must_use]
    pub fn best(&self) -> Option<f64> {
        self.passed
    }

    /// The lowest rate that did not meet them.
    #[must_use]
    pub fn lowest_failed(&self) -> Option<f64> {
        self.failed
    }
}

/// Four significant digits, so that a rate can be typed again. The precision is coarser, so a middle differs from both ends.
fn round(rate: f64) -> f64 {
    let unit = 10_f64.powf(rate.log10().floor() - 3.0);
    // The division keeps short decimals.
    if unit < 1.0 { (rate / unit).round() / (1.0 / unit).round() } else { (rate / unit).round() * unit }
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateSearchReport {
    /// Version of this format: 1.
    pub format: u32,
    /// Command or URL of the server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// The highest rate that met the thresholds, in calls per second; absent if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_rate: Option<f64>,
    /// The lowest rate that did not meet them; absent if all did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lowest_failed_rate: Option<f64>,
    /// Requested precision, in percent.
    pub precision_percent: f64,
    /// Whether the search was not interrupted.
    pub complete: bool,
    /// The runs in their order.
    pub steps: Vec<SearchStep>,
}

/// One run of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchStep {
    /// Calls per second.
    pub rate: f64,
    /// Whether it met the thresholds.
    pub passed: bool,
    /// The thresholds that failed, with the measured values.
    pub failed: Vec<String>,
    /// The result.
    pub result: LoadResult,
}

impl SearchStep {
    /// A run at this rate.
    #[must_use]
    pub fn new(rate: f64, mut result: LoadResult) -> Self {
        let failed = result.thresholds.iter().filter(|one| !one.passed);
        let mut failed: Vec<String> =
            failed.map(|one| format!("{} (measured {})", one.threshold, one.measured)).collect();
        if result.succeeded == 0 {
            failed.insert(0, "all calls failed".to_owned());
        }
        // The distributions of all steps would be the largest part of a report.
        result.histogram = Vec::new();
        result.series = Vec::new();
        Self { rate, passed: result.passed(), failed, result }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches a server with this capacity. Returns the tried rates.
    fn search(capacity: f64, from: f64, to: f64, precision: f64) -> (RateSearch, Vec<f64>) {
        let mut search = RateSearch::new(from, to, precision).unwrap();
        let mut tried = Vec::new();
        while let Some(rate) = search.next_rate() {
            tried.push(rate);
            assert!(tried.len() < 60, "{tried:?}");
            search.record(rate, rate <= capacity);
        }
        (search, tried)
    }

    #[test]
    fn finds_any_capacity_within_the_precision() {
        for capacity in [10.0, 10.4, 77.0, 123.4, 999.0, 5_000.0, 87_654.0] {
            for precision in [0.01, 0.05, 0.2] {
                let (search, tried) = search(capacity, 10.0, 100_000.0, precision);
                let (best, failed) = (search.best().unwrap(), search.lowest_failed().unwrap());
                assert!(best <= capacity && capacity < failed, "{capacity}: {tried:?}");
                assert!(failed / best - 1.0 <= precision + 1e-9, "{capacity} {precision}: {tried:?}");
            }
        }
    }

    #[test]
    fn ends_at_the_limits_of_the_range() {
        let (all_fail, tried) = search(5.0, 10.0, 1_000.0, 0.05);
        assert_eq!((all_fail.best(), tried.as_slice()), (None, [10.0, 10.0].as_slice()));
        let (all_pass, tried) = search(5_000.0, 10.0, 50.0, 0.05);
        assert_eq!((all_pass.best(), all_pass.lowest_failed()), (Some(50.0), None));
        assert_eq!(tried, [10.0, 20.0, 40.0, 50.0]);
    }

    #[test]
    fn one_disturbed_run_does_not_end_the_search() {
        let mut search = RateSearch::new(10.0, 1_000.0, 0.05).unwrap();
        search.record(10.0, true);
        search.record(20.0, false);
        assert_eq!(search.next_rate(), Some(20.0));
        search.record(20.0, true);
        assert_eq!(search.next_rate(), Some(40.0));
    }

    #[test]
    fn rates_are_short() {
        for (rate, rounded) in [(12_345.6, 12_350.0), (0.123_46, 0.1235), (14.142, 14.14), (141.42, 141.4), (1e6, 1e6)]
        {
            assert_eq!(round(rate), rounded);
        }
        assert!(RateSearch::new(10.0, 10.0, 0.05).is_err());
        assert!(RateSearch::new(10.0, 20.0, 0.0).is_err());
    }
}
