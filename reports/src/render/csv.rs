//! The time series of load tests as CSV (RFC 4180), for spreadsheets and plots.

use super::{Format, RenderError, Style, text};
use crate::model::Run;

/// One line per load test and interval, after a header.
#[derive(Debug)]
pub struct Csv;

impl Format for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn about(&self) -> &'static str {
        "The time series of load tests, one line per interval"
    }

    fn file_name(&self) -> &'static str {
        "series.csv"
    }

    fn render(&self, run: &Run, _: &Style) -> Result<String, RenderError> {
        let mut out = "load,at_s,sent,succeeded,errors,p50_us,p99_us,max_us\n".to_owned();
        let number = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
        for load in &run.loads {
            let name = quoted(&load.name);
            for point in &load.series {
                let [p50, p99, max] = [point.p50_us, point.p99_us, point.max_us].map(number);
                let at = point.at_ms as f64 / 1_000.0;
                let (sent, succeeded, errors) = (point.sent, point.succeeded, point.errors);
                out.push_str(&format!("{name},{at},{sent},{succeeded},{errors},{p50},{p99},{max}\n"));
            }
        }
        Ok(out)
    }
}

/// A text field. A spreadsheet would execute a field that starts with one of these characters.
fn quoted(name: &str) -> String {
    let line = text::bounded_line(name, 200);
    let guard = if line.starts_with(['=', '+', '-', '@']) { "'" } else { "" };
    format!("\"{guard}{}\"", line.replace('"', "\"\""))
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
        let text = Csv.render(&run, &Style::default()).unwrap();
        assert_eq!(text.lines().count(), 2);
        assert!(text.contains("\n\"'=cmd(\"\"x\"\"),\\n1\",0,20,19,1,1400,2100,2100\n"), "{text}");
    }
}
