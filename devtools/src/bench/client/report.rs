//! What came out, for people and for programs.

use std::fmt::Write as _;

use serde::Serialize;

use super::{caller::Kind, figures::Row};

/// The version of the JSON form.
const FORMAT: u32 = 1;
/// The built-in client's calls a second as a multiple of bare rmcp's: not less than this anywhere. A client that everybody
/// can have for less is no help to its users.
const LEAST: f64 = 1.0;

/// Everything that was measured.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    format: u32,
    /// Whether the program was optimised.
    optimised: bool,
    /// How many processors there are.
    processors: usize,
    /// Whether the TypeScript SDK was there to be measured.
    typescript: bool,
    rows: Vec<Row>,
    /// Whether everything that is judged held.
    held: bool,
}

fn holds(row: &Row) -> bool {
    row.client(Kind::Rmcp.name()).is_some_and(|rmcp| rmcp.speed_ratio >= LEAST)
}

impl Report {
    pub(super) fn new(rows: Vec<Row>, typescript: bool) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
        let held = rows.iter().all(holds);
        Self { format: FORMAT, optimised: !cfg!(debug_assertions), processors, typescript, rows, held }
    }

    pub(super) fn passed(&self) -> bool {
        self.held
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for row in &self.rows {
            let verdict = if holds(row) { "held" } else { "FAILED" };
            let _ = writeln!(
                text,
                "{} {}, {} at a time: at least {LEAST:.1} times bare rmcp: {verdict}",
                row.transport, row.revision, row.in_flight
            );
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
            text.push_str("the TypeScript SDK is not installed here: `cargo xtask interop` brings it\n");
        }
        if !self.optimised {
            text.push_str("this is an unoptimised build: its figures say nothing\n");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::client::figures::Client;

    fn row(speed_ratio: f64) -> Row {
        let client = |name, speed_ratio| Client {
            name,
            per_second: 100.0,
            cpu_us: 10.0,
            speed_ratio,
            lowest: speed_ratio,
            highest: speed_ratio,
            cpu_ratio: 1.0,
        };
        let clients = vec![client("builtin", 1.0), client("rmcp", speed_ratio), client("hyper", 0.2)];
        Row { transport: "http", revision: "2026-07-28", in_flight: 64, clients }
    }

    #[test]
    fn only_rmcp_is_a_bound() {
        let report = Report::new(vec![row(1.0), row(3.0)], false);
        assert!(report.passed() && !report.text().contains("FAILED"), "{}", report.text());
        let report = Report::new(vec![row(3.0), row(0.99)], true);
        assert!(!report.passed());
        assert_eq!(report.text().matches("FAILED").count(), 1, "{}", report.text());
    }
}
