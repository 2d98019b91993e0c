//! Report of the measurements, as text or JSON.

use std::fmt::Write as _;

use serde::Serialize;

use super::{memory::Growth, rounds::Comparison, thresholds};

/// Version of the JSON format.
const FORMAT: u32 = 1;

/// All measurements.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    format: u32,
    /// Whether this is a release build.
    optimized: bool,
    /// Number of processors.
    processors: usize,
    pub(super) calls: Vec<Calls>,
    pub(super) sessions: Vec<Sessions>,
    pub(super) growth: Vec<Grown>,
    /// Whether all thresholds passed.
    passed: bool,
}

/// Calls per second.
#[derive(Debug, Serialize)]
pub(super) struct Calls {
    pub(super) transport: &'static str,
    pub(super) revision: &'static str,
    /// Number of connections over HTTP, or of calls in flight over stdio.
    pub(super) concurrency: usize,
    pub(super) compared: Comparison,
    /// Minimum ratio; `None` if the ratio is only reported.
    pub(super) min_ratio: Option<f64>,
}

/// Memory of many sessions.
#[derive(Debug, Serialize)]
pub(super) struct Sessions {
    pub(super) sessions: usize,
    pub(super) bytes: u64,
    pub(super) max: u64,
}

/// Memory growth of many calls.
#[derive(Debug, Serialize)]
pub(super) struct Grown {
    pub(super) transport: &'static str,
    pub(super) revision: &'static str,
    pub(super) growth: Growth,
    pub(super) max: u64,
}

impl Calls {
    fn passed(&self) -> bool {
        self.min_ratio.is_none_or(|min| self.compared.ratio >= min)
    }

    /// Whether some rounds passed and others failed, so that the result is not reliable.
    fn is_close(&self) -> bool {
        self.min_ratio.is_some_and(|min| self.compared.lowest < min && min <= self.compared.highest)
    }

    fn line(&self) -> String {
        let Self { transport, revision, concurrency, compared, .. } = self;
        let mut line = format!(
            "{transport:<5} {revision}  {concurrency:>2} at a time  mock {:>7.0}/s  baseline {:>7.0}/s  ratio {:.2} \
             (rounds {:.2} to {:.2})",
            compared.mock_per_second, compared.baseline_per_second, compared.ratio, compared.lowest, compared.highest
        );
        if let Some(min) = self.min_ratio {
            let _ = write!(line, "  at least {min}: {}", word(self.passed()));
            if self.is_close() {
                line.push_str(", but the rounds disagree; repeat the measurement on an idle machine");
            }
        }
        line
    }
}

impl Report {
    pub(super) fn new() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
        let optimized = !cfg!(debug_assertions);
        let (calls, sessions, growth) = (Vec::new(), Vec::new(), Vec::new());
        Self { format: FORMAT, optimized, processors, calls, sessions, growth, passed: true }
    }

    /// Judges all measurements and returns whether they passed.
    pub(super) fn judge(&mut self) -> bool {
        self.passed = self.calls.iter().all(Calls::passed)
            && self.sessions.iter().all(|one| one.bytes < one.max)
            && self.growth.iter().all(|one| one.growth.grown() <= one.max);
        self.passed
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for calls in &self.calls {
            text.push_str(&calls.line());
            text.push('\n');
        }
        for Sessions { sessions, bytes, max } in &self.sessions {
            let verdict = word(bytes < max);
            let _ = writeln!(text, "{sessions} sessions: {}; below {}: {verdict}", size(*bytes), size(*max));
        }
        for Grown { transport, revision, growth, max } in &self.growth {
            let Growth { calls, early_bytes, late_bytes, bytes_per_call } = growth;
            let _ = writeln!(
                text,
                "{transport:<5} {revision}  {calls} calls: {} after a tenth, {} after all, {bytes_per_call:+.2} bytes \
                 a call; growth at most {}: {}",
                size(*early_bytes),
                size(*late_bytes),
                size(*max),
                word(growth.grown() <= *max)
            );
        }
        let noisy = self.calls.iter().map(|calls| calls.compared.spread()).fold(0.0, f64::max);
        let _ = writeln!(text, "maximum spread of the rounds of one line: {:.0} %", noisy * 100.0);
        if !self.optimized {
            text.push_str("measured with a debug build; results are not meaningful\n");
        }
        text
    }
}

/// The minimum ratio for this number of connections over HTTP.
pub(super) fn http_threshold(connections: usize) -> Option<f64> {
    (connections == thresholds::HTTP_JUDGED_AT).then_some(thresholds::HTTP_RATIO)
}

fn word(passed: bool) -> &'static str {
    if passed { "passed" } else { "FAILED" }
}

fn size(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(ratio: f64, min_ratio: Option<f64>) -> Calls {
        let compared = Comparison {
            mock_per_second: 80.0,
            baseline_per_second: 100.0,
            ratio,
            lowest: ratio - 0.05,
            highest: ratio + 0.05,
        };
        Calls { transport: "http", revision: "2026-07-28", concurrency: 64, compared, min_ratio }
    }

    #[test]
    fn fails_below_a_threshold() {
        let mut report = Report::new();
        report.calls.push(calls(0.9, Some(0.8)));
        assert!(report.judge());
        report.calls.push(calls(0.5, None));
        assert!(report.judge(), "a ratio without a threshold is not judged");
        report.calls.push(calls(0.79, Some(0.8)));
        assert!(!report.judge());
        let text = report.text();
        assert!(text.contains("at least 0.8: FAILED, but the rounds disagree"), "{text}");
        assert_eq!(text.matches("FAILED").count(), 1, "{text}");
    }

    #[test]
    fn judges_the_memory() {
        let growth = |late_bytes| Growth { calls: 10, early_bytes: 100, late_bytes, bytes_per_call: 1.0 };
        let judged = |bytes, late| {
            let mut report = Report::new();
            report.sessions.push(Sessions { sessions: 10, bytes, max: 100 });
            report.growth.push(Grown { transport: "http", revision: "", growth: growth(late), max: 50 });
            report.judge()
        };
        assert!(judged(99, 150) && !judged(100, 150) && !judged(99, 151));
    }

    #[test]
    fn only_the_agreed_number_of_connections_is_judged() {
        assert_eq!([1, 16, 64].map(http_threshold), [None, None, Some(0.8)]);
    }
}
