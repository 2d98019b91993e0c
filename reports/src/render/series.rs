//! The time series of load tests as CSV (RFC 4180), for spreadsheets and plots.

use super::{Format, RenderError, Style, csv};
use crate::model::Run;

const COLUMNS: [&str; 12] =
    ["load", "at_s", "sent", "succeeded", "errors", "p50_us", "p99_us", "max_us", "rss_kb", "cpu_ms", "fds", "threads"];

/// One line per load test and interval, after a header.
#[derive(Debug)]
pub struct Series;

impl Format for Series {
    fn name(&self) -> &'static str {
        "series"
    }

    fn about(&self) -> &'static str {
        "The time series of load tests as CSV, one line per interval"
    }

    fn file_name(&self) -> &'static str {
        "series.csv"
    }

    fn render(&self, run: &Run, _: &Style) -> Result<String, RenderError> {
        let number = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
        let points = run.loads.iter().flat_map(|load| load.series.iter().map(|point| (csv::field(&load.name), point)));
        let rows = points.map(|(name, point)| {
            let at = point.at_ms as f64 / 1_000.0;
            let counts = [point.sent, point.succeeded, point.errors].map(|count| count.to_string());
            let [sent, succeeded, errors] = counts;
            let [p50, p99, max] = [point.p50_us, point.p99_us, point.max_us].map(number);
            let [rss, cpu, fds, threads] = [point.rss_kb, point.cpu_ms, point.fds, point.threads].map(number);
            [name, at.to_string(), sent, succeeded, errors, p50, p99, max, rss, cpu, fds, threads]
        });
        csv::table(self, std::iter::once(COLUMNS.map(str::to_owned)).chain(rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn names_are_quoted_and_never_formulas() {
        let mut run = sample::run(vec![]);
        run.loads = vec![sample::load()];
        run.loads[0].name = "=cmd(\"x\"),\n1".to_owned();
        let text = Series.render(&run, &Style::default()).unwrap();
        assert_eq!(text.lines().count(), 2);
        assert!(text.contains("\n\"'=cmd(\"\"x\"\"),\\n1\",0,20,19,1,1400,2100,2100,51200,125,21,4\n"), "{text}");
    }
}
