//! Shows what came of the checks: a table for people, JSON for programs.

use std::fmt::Write as _;

use serde_json::json;

use super::outcome::{Outcome, Row, Verdict};

/// The longest reason in a table; the whole of it is in the JSON and in the outputs.
const REASON: usize = 300;

/// One line for a check that is over.
pub(super) fn line(outcome: &Outcome) -> String {
    let seconds = outcome.took.as_secs_f64();
    let word = if outcome.passed() { "passed" } else { "FAILED" };
    let (passed, all) = (outcome.count(Verdict::Passed), outcome.rows.len());
    format!("{word} {} ({passed} of {all}, {seconds:.1} s)", outcome.check)
}

/// The tables, and what to look at.
pub(super) fn text(outcomes: &[Outcome]) -> String {
    let mut text = String::new();
    for outcome in outcomes {
        let _ = writeln!(text, "\n{}", line(outcome));
        if let Some(trouble) = &outcome.trouble {
            let _ = writeln!(text, "  {}", shortened(trouble));
        }
        table(&mut text, &outcome.rows);
        if !outcome.passed() {
            let _ = writeln!(text, "  outputs: {}", outcome.folder.display());
        }
    }
    let held = outcomes.iter().filter(|outcome| outcome.passed()).count();
    let rows = |verdict| -> usize { outcomes.iter().map(|outcome| outcome.count(verdict)).sum() };
    let (passed, failed, untestable) = (rows(Verdict::Passed), rows(Verdict::Failed), rows(Verdict::Untestable));
    let _ = writeln!(
        text,
        "\n{held} of {} checks held: {passed} passed, {failed} failed, {untestable} that the suite itself does not try",
        outcomes.len()
    );
    text
}

fn table(text: &mut String, rows: &[Row]) {
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or_default();
    if !rows.is_empty() {
        let _ = writeln!(text, "  {:width$}  {:>6} {:>6} {:>6}  verdict", "", "passed", "failed", "warned");
    }
    for row in rows {
        let Row { name, passed, failed, warned, .. } = row;
        let kind = row.kind.as_ref().map(|kind| format!(" ({kind})")).unwrap_or_default();
        let _ = writeln!(text, "  {name:width$}  {passed:6} {failed:6} {warned:6}  {}{kind}", row.verdict.word());
        if let Some(reason) = &row.reason {
            let _ = writeln!(text, "    {}", shortened(reason));
        }
    }
}

/// What a program said is hostile: on one line, bounded, without control characters.
fn shortened(text: &str) -> String {
    let visible: String = text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect();
    match visible.char_indices().nth(REASON) {
        Some((place, _)) => format!("{}…", &visible[..place]),
        None => visible,
    }
}

/// The same, whole.
pub(super) fn json(outcomes: &[Outcome]) -> serde_json::Result<String> {
    let checks: Vec<_> = outcomes
        .iter()
        .map(|outcome| {
            json!({
                "name": outcome.check,
                "held": outcome.passed(),
                "seconds": outcome.took.as_secs_f64(),
                "trouble": outcome.trouble,
                "rows": outcome.rows,
                "outputs": outcome.folder,
            })
        })
        .collect();
    let held = outcomes.iter().all(Outcome::passed);
    Ok(serde_json::to_string_pretty(&json!({ "held": held, "checks": checks }))? + "\n")
}

#[cfg(test)]
mod tests {
    use std::{path::PathBuf, time::Duration};

    use super::*;

    #[test]
    fn names_the_outputs_of_what_failed_and_keeps_control_characters_away() {
        let rows = vec![Row::of("a", None), Row::of("b", Some("\u{1b}[31mred\nline".to_owned()))];
        let folder = PathBuf::from("interop/last/x");
        let outcome =
            Outcome { check: "x".to_owned(), rows, trouble: None, took: Duration::from_millis(1_500), folder };
        let text = text(&[outcome]);
        assert!(text.contains("FAILED x (1 of 2, 1.5 s)"), "{text}");
        assert!(text.contains(" [31mred line"), "{text}");
        assert!(text.contains("outputs: interop/last/x"), "{text}");
        assert!(text.contains("0 of 1 checks held: 1 passed, 1 failed"), "{text}");
    }
}
