//! Report of the measurements, as text or JSON.

use std::fmt::Write as _;

use serde::Serialize;

use super::{caller::Kind, figures::Row};

/// Version of the JSON format.
const FORMAT: u32 = 1;
/// Minimum ratio of the calls per second of the built-in client to those of rmcp.
const MIN_RATIO: f64 = 1.0;
/// Maximum ratio of the calls per second of the built-in client to those of the host.
const MAX_HOST_RATIO: f64 = 1.10;

/// All measurements.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    format: u32,
    /// Whether this is a release build.
    optimized: bool,
    /// Number of processors.
    processors: usize,
    /// Whether the TypeScript SDK was measured.
    typescript: bool,
    rows: Vec<Row>,
    /// Whether all ratios passed.
    passed: bool,
}

/// Whether the built-in client is fast enough, and whether the host is.
fn row_results(row: &Row) -> [(String, bool); 2] {
    let ratio_to = |kind: Kind| row.client(kind.name()).map(|client| client.speed_ratio);
    [
        (format!("at least {MIN_RATIO:.1} times rmcp"), ratio_to(Kind::Rmcp).is_some_and(|ratio| ratio >= MIN_RATIO)),
        (
            format!("at most {MAX_HOST_RATIO:.2} times the host"),
            ratio_to(Kind::Host).is_some_and(|ratio| ratio <= MAX_HOST_RATIO),
        ),
    ]
}

fn row_passed(row: &Row) -> bool {
    row_results(row).iter().all(|(_, passed)| *passed)
}

impl Report {
    pub(super) fn new(rows: Vec<Row>, typescript: bool) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
        let passed = rows.iter().all(row_passed);
        Self { format: FORMAT, optimized: !cfg!(debug_assertions), processors, typescript, rows, passed }
    }

    pub(super) fn passed(&self) -> bool {
        self.passed
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for row in &self.rows {
            for (rule, passed) in row_results(row) {
                let verdict = if passed { "passed" } else { "FAILED" };
                let _ = writeln!(
                    text,
                    "{} {}, {} at a time: {rule}: {verdict}",
                    row.transport, row.revision, row.in_flight
                );
            }
            for client in &row.clients {
                let _ = writeln!(
                    text,
                    "  {:<10} {:>7.0}/s {:>6.1} us of CPU a call   built-in: {:.2} times as fast (rounds {:.2} to {:.2}), {:.2} \
                     times less CPU",
                    client.name,
                    client.per_second,
                    client.cpu_us,
                    client.speed_ratio,
                    client.lowest,
                    client.highest,
                    client.cpu_ratio
                );
            }
        }
        if !self.typescript {
            text.push_str("the TypeScript SDK is not installed; `cargo xtask interop` installs it\n");
        }
        if !self.optimized {
            text.push_str("measured with a debug build; results are not meaningful\n");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::client::figures::Client;

    fn row(speed_ratio: f64, host: f64) -> Row {
        let client = |name, speed_ratio| Client {
            name,
            per_second: 100.0,
            cpu_us: 10.0,
            speed_ratio,
            lowest: speed_ratio,
            highest: speed_ratio,
            cpu_ratio: 1.0,
        };
        let clients =
            vec![client("builtin", 1.0), client("host", host), client("rmcp", speed_ratio), client("hyper", 0.2)];
        Row { transport: "http", revision: "2026-07-28", in_flight: 64, clients }
    }

    #[test]
    fn only_the_ratios_to_rmcp_and_to_the_host_are_judged() {
        let report = Report::new(vec![row(1.0, 1.1), row(3.0, 0.9)], false);
        assert!(report.passed() && !report.text().contains("FAILED"), "{}", report.text());
        for slow in [row(0.99, 1.0), row(3.0, 1.11)] {
            let report = Report::new(vec![row(3.0, 1.0), slow], true);
            assert!(!report.passed());
            assert_eq!(report.text().matches("FAILED").count(), 1, "{}", report.text());
        }
    }
}
