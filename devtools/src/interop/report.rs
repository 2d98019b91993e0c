//! Report of the checks, as a table or as JSON.

use std::fmt::Write as _;

use serde_json::json;

use super::outcome::{CheckStatus, Outcome, Row};

/// Maximum length of a reason in a table; the JSON contains the complete reason.
const MAX_REASON: usize = 300;

/// One line for a finished check.
pub(super) fn line(outcome: &Outcome) -> String {
    let seconds = outcome.duration.as_secs_f64();
    let status = if outcome.passed() { "passed" } else { "FAILED" };
    let (passed, all) = (outcome.count(CheckStatus::Passed), outcome.rows.len());
    format!("{status} {} ({passed} of {all}, {seconds:.1} s)", outcome.check)
}

/// The tables and a summary.
pub(super) fn text(outcomes: &[Outcome]) -> String {
    let mut text = String::new();
    for outcome in outcomes {
        let _ = writeln!(text, "\n{}", line(outcome));
        if let Some(error) = &outcome.error {
            let _ = writeln!(text, "  {}", shortened(error));
        }
        table(&mut text, &outcome.rows);
        if !outcome.passed() {
            let _ = writeln!(text, "  outputs: {}", outcome.directory.display());
        }
    }
    let passed_checks = outcomes.iter().filter(|outcome| outcome.passed()).count();
    let rows = |status| -> usize { outcomes.iter().map(|outcome| outcome.count(status)).sum() };
    let (passed, failed, untestable) =
        (rows(CheckStatus::Passed), rows(CheckStatus::Failed), rows(CheckStatus::Untestable));
    let _ = writeln!(
        text,
        "\n{passed_checks} of {} checks passed; rows: {passed} passed, {failed} failed, {untestable} not executed by the suite",
        outcomes.len()
    );
    text
}

fn table(text: &mut String, rows: &[Row]) {
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or_default();
    if !rows.is_empty() {
        let _ = writeln!(text, "  {:width$}  {:>6} {:>6} {:>6}  status", "", "passed", "failed", "warned");
    }
    for row in rows {
        let Row { name, passed, failed, warned, .. } = row;
        let kind = row.kind.as_ref().map(|kind| format!(" ({kind})")).unwrap_or_default();
        let _ = writeln!(text, "  {name:width$}  {passed:6} {failed:6} {warned:6}  {}{kind}", row.status.as_str());
        if let Some(reason) = &row.reason {
            let _ = writeln!(text, "    {}", shortened(reason));
        }
    }
}

/// One line of limited length without control characters; output of programs is hostile.
fn shortened(text: &str) -> String {
    let visible: String = text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect();
    match visible.char_indices().nth(MAX_REASON) {
        Some((end, _)) => format!("{}…", &visible[..end]),
        None => visible,
    }
}

/// The complete report as JSON.
pub(super) fn json(outcomes: &[Outcome]) -> serde_json::Result<String> {
    let checks: Vec<_> = outcomes
        .iter()
        .map(|outcome| {
            json!({
                "name": outcome.check,
                "passed": outcome.passed(),
                "seconds": outcome.duration.as_secs_f64(),
                "error": outcome.error,
                "rows": outcome.rows,
                "outputs": outcome.directory,
            })
        })
        .collect();
    let passed = outcomes.iter().all(Outcome::passed);
    Ok(serde_json::to_string_pretty(&json!({ "passed": passed, "checks": checks }))? + "\n")
}

#[cfg(test)]
mod tests {
    use std::{path::PathBuf, time::Duration};

    use super::*;

    #[test]
    fn names_the_outputs_of_failed_checks_without_control_characters() {
        let rows = vec![Row::new("a", None), Row::new("b", Some("\u{1b}[31mred\nline".to_owned()))];
        let directory = PathBuf::from("interop/last/x");
        let outcome =
            Outcome { check: "x".to_owned(), rows, error: None, duration: Duration::from_millis(1_500), directory };
        let text = text(&[outcome]);
        assert!(text.contains("FAILED x (1 of 2, 1.5 s)"), "{text}");
        assert!(text.contains(" [31mred line"), "{text}");
        assert!(text.contains("outputs: interop/last/x"), "{text}");
        assert!(text.contains("0 of 1 checks passed; rows: 1 passed, 1 failed"), "{text}");
    }
}
