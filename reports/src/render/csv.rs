//! One row per check, for spreadsheets and data frames.
//!
//! Spreadsheets evaluate a field that starts like a formula, so such a field gets a leading apostrophe.

use csv::{Terminator, WriterBuilder};

use super::{Format, RenderError, Style, text};
use crate::model::{CaseResult, CheckResult, LoadResult, Run};

/// Maximum length of a field, in characters.
const MAX_FIELD: usize = 500;

/// The columns. The duration is that of the case, in milliseconds.
const COLUMNS: [&str; 10] =
    ["case", "area", "scenario", "transport", "revision", "check", "verdict", "level", "requirement", "duration_ms"];

/// Comma-separated values (RFC 4180, but with line feeds), with a header.
#[derive(Debug)]
pub struct Csv;

impl Format for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn about(&self) -> &'static str {
        "One row per check, for spreadsheets and data frames"
    }

    fn file_name(&self) -> &'static str {
        "checks.csv"
    }

    fn render(&self, run: &Run, _: &Style) -> Result<String, RenderError> {
        let rows = std::iter::once(COLUMNS.map(str::to_owned));
        let checks = run.cases.iter().flat_map(|case| case.checks.iter().map(|check| check_row(case, check)));
        table(self, rows.chain(checks).chain(run.loads.iter().flat_map(load_rows)))
    }
}

/// The text of a table.
pub(super) fn table<const N: usize>(
    format: &dyn Format,
    rows: impl Iterator<Item = [String; N]>,
) -> Result<String, RenderError> {
    let mut writer = WriterBuilder::new().terminator(Terminator::Any(b'\n')).from_writer(Vec::new());
    for row in rows {
        writer.write_record(row).map_err(|error| RenderError::new(format, error))?;
    }
    let bytes = writer.into_inner().map_err(|error| RenderError::new(format, error.into_error()))?;
    String::from_utf8(bytes).map_err(|error| RenderError::new(format, error))
}

fn check_row(case: &CaseResult, check: &CheckResult) -> [String; 10] {
    let requirement = &check.requirement;
    let area = requirement.id.split('/').next().unwrap_or_default();
    [
        field(&case.id),
        field(area),
        field(&case.scenario),
        field(&case.transport),
        field(&case.revision),
        field(&check.id),
        check.verdict.as_str().to_owned(),
        requirement.level.as_str().to_owned(),
        field(&requirement.id),
        case.elapsed_ms.to_string(),
    ]
}

/// One row for each threshold of a load test, and one for the rule that a call has to succeed.
fn load_rows(load: &LoadResult) -> Vec<[String; 10]> {
    let thresholds = load.thresholds.iter().map(|threshold| (threshold.threshold.as_str(), threshold.passed));
    let rows = thresholds.chain(std::iter::once(("at least one call succeeds", load.succeeded > 0)));
    let row = |(check, passed): (&str, bool)| {
        [
            field(&load.name),
            "load".to_owned(),
            String::new(),
            field(&load.transport),
            String::new(),
            field(check),
            if passed { "passed" } else { "failed" }.to_owned(),
            String::new(),
            String::new(),
            load.counted_ms.to_string(),
        ]
    };
    rows.map(row).collect()
}

/// One line without control characters that no spreadsheet takes for a formula.
pub(super) fn field(value: &str) -> String {
    let value = text::bounded_line(value, MAX_FIELD);
    // Full-width forms start a formula too in some locales.
    let formula = value.trim_start().starts_with(['=', '+', '-', '@', '|', '＝', '＋', '－', '＠']);
    if formula { format!("'{value}") } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{model::Verdict, sample};

    fn records(run: &Run) -> Vec<Vec<String>> {
        let text = Csv.render(run, &Style::default()).unwrap();
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
        reader.records().map(|record| record.unwrap().iter().map(str::to_owned).collect()).collect()
    }

    #[test]
    fn each_check_and_each_threshold_has_a_row() {
        let run = sample::everything();
        let checks: usize = run.cases.iter().map(|case| case.checks.len()).sum();
        let records = records(&run);
        assert_eq!(records.len(), 1 + checks + 3);
        assert_eq!(records[0], COLUMNS);
        let failed = records.iter().filter(|record| record[1] == "load" && record[6] == "failed");
        assert_eq!(failed.map(|record| record[5].as_str()).collect::<Vec<_>>(), ["errors < 1%"]);
    }

    #[test]
    fn hostile_text_stays_in_its_field_and_is_no_formula() {
        let mut case = sample::case("tools/one", Verdict::Failed);
        case.id = "=HYPERLINK(\"http://x\",\"y\")".to_owned();
        case.checks[0].id = "a\",\"b\r\nc,d".to_owned();
        case.checks[0].requirement.id = " @SUM(1)".to_owned();
        case.transport = "\t=1".to_owned();
        let records = records(&sample::run(vec![case]));
        assert_eq!(records.len(), 2);
        let row = &records[1];
        assert_eq!(row[0], "'=HYPERLINK(\"http://x\",\"y\")");
        assert_eq!(row[5], "a\",\"b\\r\\nc,d");
        assert_eq!(row[8], "' @SUM(1)");
        assert_eq!(row[3], "\\t=1");
    }
}
