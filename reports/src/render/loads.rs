//! The results of load tests and of their operations as CSV (RFC 4180).

use super::{Format, RenderError, Style, csv, outcome};
use crate::model::{Latency, LoadResult, OperationResult, Run};

const COLUMNS: [&str; 15] = [
    "load",
    "operation",
    "offered",
    "sent",
    "succeeded",
    "errors",
    "unfinished",
    "rate",
    "min_us",
    "mean_us",
    "p50_us",
    "p90_us",
    "p95_us",
    "p99_us",
    "max_us",
];

/// One line per load test, with an empty operation, and one per operation, after a header.
#[derive(Debug)]
pub struct Loads;

impl Format for Loads {
    fn name(&self) -> &'static str {
        "loads"
    }

    fn about(&self) -> &'static str {
        "Counts, rates and latencies of load tests and their operations as CSV"
    }

    fn file_name(&self) -> &'static str {
        "loads.csv"
    }

    fn render(&self, run: &Run, _: &Style) -> Result<String, RenderError> {
        let rows = run.loads.iter().flat_map(|load| {
            let operations = load.operations.iter().map(|operation| operation_row(load, operation));
            std::iter::once(load_row(load)).chain(operations)
        });
        csv::table(self, std::iter::once(COLUMNS.map(str::to_owned)).chain(rows))
    }
}

fn load_row(load: &LoadResult) -> [String; 15] {
    let counts = [load.offered, load.sent, load.succeeded, outcome::errors(load), load.unfinished];
    let [offered, sent, succeeded, errors, unfinished] = counts.map(|count| count.to_string());
    let names = [csv::field(&load.name), String::new()];
    row(names, [offered, sent, succeeded, errors, unfinished], load.achieved_rate, load.latency.as_ref())
}

fn operation_row(load: &LoadResult, operation: &OperationResult) -> [String; 15] {
    let counts = [operation.sent, operation.succeeded, operation.failed(), operation.unfinished];
    let [sent, succeeded, errors, unfinished] = counts.map(|count| count.to_string());
    let names = [csv::field(&load.name), csv::field(&operation.name)];
    row(names, [String::new(), sent, succeeded, errors, unfinished], operation.rate, operation.latency.as_ref())
}

fn row(names: [String; 2], counts: [String; 5], rate: f64, latency: Option<&Latency>) -> [String; 15] {
    let [load, operation] = names;
    let [offered, sent, succeeded, errors, unfinished] = counts;
    let us = |value: fn(&Latency) -> u64| latency.map(|all| value(all).to_string()).unwrap_or_default();
    let mean = latency.map(|all| format!("{:.1}", all.mean_us)).unwrap_or_default();
    let [min, p50, p90] = [us(|all| all.min_us), us(|all| all.p50_us), us(|all| all.p90_us)];
    let [p95, p99, max] = [us(|all| all.p95_us), us(|all| all.p99_us), us(|all| all.max_us)];
    let rate = format!("{rate:.3}");
    [load, operation, offered, sent, succeeded, errors, unfinished, rate, min, mean, p50, p90, p95, p99, max]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn each_load_and_each_operation_has_a_row() {
        let mut run = sample::run(vec![]);
        run.loads = vec![sample::mix()];
        let text = Loads.render(&run, &Style::default()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[1..],
            [
                "\"8:echo, 2:tools/list\",,200,198,190,8,2,19.000,812,1530.5,1400,2100,2900,14000,1300000",
                "\"8:echo, 2:tools/list\",echo,,158,150,7,1,15.000,812,1530.5,1400,2100,2900,14000,1300000",
                "\"8:echo, 2:tools/list\",tools/list,,40,40,0,0,4.000,,,,,,,",
            ]
        );
    }
}
