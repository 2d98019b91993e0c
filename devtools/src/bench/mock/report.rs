//! What came out, for people and for programs.

use std::fmt::Write as _;

use serde::Serialize;

use super::{bounds, memory::Growth, rounds::Comparison};

/// The version of the JSON form.
const FORMAT: u32 = 1;

/// Everything that was measured.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    format: u32,
    /// Whether the program was optimised.
    optimised: bool,
    /// How many processors there are.
    processors: usize,
    pub(super) calls: Vec<Calls>,
    pub(super) sessions: Vec<Sessions>,
    pub(super) growth: Vec<Grown>,
    /// Whether everything that is judged held.
    held: bool,
}

/// How fast calls were answered.
#[derive(Debug, Serialize)]
pub(super) struct Calls {
    pub(super) transport: &'static str,
    pub(super) revision: &'static str,
    /// How many connections there were over HTTP, how many calls in flight over stdio.
    pub(super) concurrency: usize,
    pub(super) compared: Comparison,
    /// The ratio that is asked for; none where it is only told.
    pub(super) least: Option<f64>,
}

/// What many sessions take.
#[derive(Debug, Serialize)]
pub(super) struct Sessions {
    pub(super) sessions: usize,
    pub(super) bytes: u64,
    pub(super) most: u64,
}

/// What many calls leave behind.
#[derive(Debug, Serialize)]
pub(super) struct Grown {
    pub(super) transport: &'static str,
    pub(super) revision: &'static str,
    pub(super) growth: Growth,
    pub(super) most: u64,
}

impl Calls {
    fn passed(&self) -> bool {
        self.least.is_none_or(|least| self.compared.ratio >= least)
    }

    /// Whether some rounds held and others did not: the figure then depends on the luck of the moment.
    fn is_close(&self) -> bool {
        self.least.is_some_and(|least| self.compared.lowest < least && least <= self.compared.highest)
    }

    fn line(&self) -> String {
        let Self { transport, revision, concurrency, compared, .. } = self;
        let mut line = format!(
            "{transport:<5} {revision}  {concurrency:>2} at a time  mock {:>7.0}/s  bare {:>7.0}/s  ratio {:.2} \
             (rounds {:.2} to {:.2})",
            compared.mock_per_second, compared.bare_per_second, compared.ratio, compared.lowest, compared.highest
        );
        if let Some(least) = self.least {
            let _ = write!(line, "  at least {least}: {}", word(self.passed()));
            if self.is_close() {
                line.push_str(", but the rounds disagree; measure again on a machine with nothing else to do");
            }
        }
        line
    }
}

impl Report {
    pub(super) fn new() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
        let optimised = !cfg!(debug_assertions);
        let (calls, sessions, growth) = (Vec::new(), Vec::new(), Vec::new());
        Self { format: FORMAT, optimised, processors, calls, sessions, growth, held: true }
    }

    /// Judges everything, and returns whether it held.
    pub(super) fn judge(&mut self) -> bool {
        self.held = self.calls.iter().all(Calls::passed)
            && self.sessions.iter().all(|one| one.bytes < one.most)
            && self.growth.iter().all(|one| one.growth.grown() <= one.most);
        self.held
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for calls in &self.calls {
            text.push_str(&calls.line());
            text.push('\n');
        }
        for Sessions { sessions, bytes, most } in &self.sessions {
            let held = word(bytes < most);
            let _ = writeln!(text, "{sessions} sessions: {}; below {}: {held}", size(*bytes), size(*most));
        }
        for Grown { transport, revision, growth, most } in &self.growth {
            let Growth { calls, early_bytes, late_bytes, bytes_per_call } = growth;
            let _ = writeln!(
                text,
                "{transport:<5} {revision}  {calls} calls: {} after a tenth, {} after all, {bytes_per_call:+.2} bytes \
                 a call; growth at most {}: {}",
                size(*early_bytes),
                size(*late_bytes),
                size(*most),
                word(growth.grown() <= *most)
            );
        }
        let noisy = self.calls.iter().map(|calls| calls.compared.spread()).fold(0.0, f64::max);
        let _ = writeln!(text, "the rounds of one line lie at most {:.0} % apart", noisy * 100.0);
        if !self.optimised {
            text.push_str("this is an unoptimised build: its figures say nothing\n");
        }
        text
    }
}

/// The bound for so many connections over HTTP.
pub(super) fn http_bound(connections: usize) -> Option<f64> {
    (connections == bounds::HTTP_JUDGED_AT).then_some(bounds::HTTP_RATIO)
}

fn word(held: bool) -> &'static str {
    if held { "held" } else { "FAILED" }
}

fn size(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(ratio: f64, least: Option<f64>) -> Calls {
        let compared = Comparison {
            mock_per_second: 80.0,
            bare_per_second: 100.0,
            ratio,
            lowest: ratio - 0.05,
            highest: ratio + 0.05,
        };
        Calls { transport: "http", revision: "2026-07-28", concurrency: 64, compared, least }
    }

    #[test]
    fn fails_where_a_bound_is_missed_and_says_where() {
        let mut report = Report::new();
        report.calls.push(calls(0.9, Some(0.8)));
        assert!(report.judge());
        report.calls.push(calls(0.5, None));
        assert!(report.judge(), "what has no bound is not judged");
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
            report.sessions.push(Sessions { sessions: 10, bytes, most: 100 });
            report.growth.push(Grown { transport: "http", revision: "", growth: growth(late), most: 50 });
            report.judge()
        };
        assert!(judged(99, 150) && !judged(100, 150) && !judged(99, 151));
    }

    #[test]
    fn only_the_agreed_number_of_connections_is_judged() {
        assert_eq!([1, 16, 64].map(http_bound), [None, None, Some(0.8)]);
    }
}
