//! Results of cases as a matrix: areas by transport and revision, or areas by subject.

use std::collections::{BTreeMap, BTreeSet};

use super::{labels::sign, link};
use crate::{
    model::{CaseResult, Run, RunKind, Verdict},
    render::{outcome::word, text},
};

/// Maximum number of rows and columns. Files of others can have any number of areas.
const MAX_LINES: usize = 100;
/// Maximum length of a name, in characters.
const MAX_NAME: usize = 60;

/// A table of cells.
pub(super) struct Matrix {
    pub(super) caption: String,
    /// Headings above the columns, with the number of columns of each. Empty: no such row.
    pub(super) groups: Vec<(String, usize)>,
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Row>,
    /// Number of areas that are not shown.
    pub(super) omitted: usize,
}

/// The heading of a column.
pub(super) struct Column {
    /// The revision or the subject.
    pub(super) name: String,
    /// Below the name: the result of a subject.
    pub(super) verdict: Option<&'static str>,
}

/// One area.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) cells: Vec<Option<Cell>>,
    /// All cells of the row; absent if there is only one column.
    pub(super) total: Option<Cell>,
}

/// The results of the cases of an area and column.
pub(super) struct Cell {
    /// Most severe verdict; decides the color.
    pub(super) verdict: &'static str,
    pub(super) sign: &'static str,
    /// `passed`, or `failed/judged`.
    pub(super) text: String,
    /// All counts.
    pub(super) label: String,
    pub(super) href: String,
}

/// The areas of a case, each with the most severe verdict of the case in that area. A case of a client belongs to the area
/// of its scenario; one of a server to the areas of the requirements of its checks.
pub(super) fn areas<'r>(run: &Run, case: &'r CaseResult) -> BTreeMap<&'r str, Verdict> {
    let first = |text: &'r str| text.split('/').next().unwrap_or_default();
    let mut areas = BTreeMap::new();
    match run.header.kind {
        RunKind::Validate => {
            for check in &case.checks {
                let verdict = areas.entry(first(&check.requirement.id)).or_insert(check.verdict);
                *verdict = check.verdict.max(*verdict);
            }
        }
        RunKind::Conformance | RunKind::Bench => {
            areas.insert(first(&case.scenario), case.verdict);
        }
    }
    areas
}

/// Counts of cases per verdict, in a cell.
type Verdicts = BTreeMap<Verdict, usize>;

/// The areas of one run by transport and revision; `None` without cases.
pub(super) fn for_run(run: &Run, number: usize, runs: usize) -> Option<Matrix> {
    let mut found: BTreeMap<(&str, (&str, &str)), Verdicts> = BTreeMap::new();
    for case in &run.cases {
        for (area, verdict) in areas(run, case) {
            let key = (area, (case.transport.as_str(), case.revision.as_str()));
            *found.entry(key).or_default().entry(verdict).or_default() += 1;
        }
    }
    let keys: BTreeSet<(&str, &str)> = found.keys().map(|(_, key)| *key).collect();
    if keys.is_empty() {
        return None;
    }
    let named = keys.into_iter().take(MAX_LINES).map(|(transport, revision)| {
        let names = [transport, revision].map(|name| text::bounded_line(name, MAX_NAME));
        (names.join(" "), (transport, revision))
    });
    let named: Vec<_> = named.collect();
    let scope = (runs > 1).then(|| number.to_string());
    let href = |area: &str, key: Option<&(&str, &str)>| {
        let mut filters = vec![("area", area)];
        filters
            .extend(key.iter().flat_map(|(transport, revision)| [("transport", *transport), ("revision", *revision)]));
        filters.extend(scope.iter().map(|number| ("run", number.as_str())));
        link::to_cases(&filters)
    };
    let (rows, omitted) = rows(&found, &named, &href);
    let columns =
        named.iter().map(|(_, (_, revision))| Column { name: text::bounded_line(revision, MAX_NAME), verdict: None });
    let caption = match run.header.kind {
        RunKind::Validate => "Cases with a check in each area, by transport and revision",
        RunKind::Conformance | RunKind::Bench => "Cases of each area, by transport and revision",
    };
    let groups = groups(named.iter().map(|(_, (transport, _))| *transport));
    Some(Matrix { caption: caption.to_owned(), groups, columns: columns.collect(), rows, omitted })
}

/// Equal neighbors, with the length of their row.
fn groups<'a>(names: impl Iterator<Item = &'a str>) -> Vec<(String, usize)> {
    let mut groups: Vec<(String, usize)> = Vec::new();
    for name in names {
        let name = text::bounded_line(name, MAX_NAME);
        match groups.last_mut().filter(|(last, _)| *last == name) {
            Some((_, span)) => *span += 1,
            None => groups.push((name, 1)),
        }
    }
    groups
}

/// The areas of several runs by subject.
pub(super) fn subjects(runs: &[Run]) -> Matrix {
    let mut found: BTreeMap<(&str, usize), Verdicts> = BTreeMap::new();
    for (number, run) in runs.iter().enumerate() {
        for case in &run.cases {
            for (area, verdict) in areas(run, case) {
                *found.entry((area, number)).or_default().entry(verdict).or_default() += 1;
            }
        }
    }
    let shown = runs.iter().take(MAX_LINES).enumerate();
    let names: Vec<_> =
        shown.map(|(number, run)| (text::bounded_line(&run.header.subject, MAX_NAME), number)).collect();
    let href = |area: &str, number: Option<&usize>| match number {
        Some(number) => link::to_cases(&[("area", area), ("run", &number.to_string())]),
        None => link::to_cases(&[("area", area)]),
    };
    let (rows, omitted) = rows(&found, &names, &href);
    let columns =
        names.into_iter().zip(runs).map(|((name, _), run)| Column { name, verdict: Some(word(run.passed())) });
    let caption = "Cases of each area, by subject".to_owned();
    Matrix { caption, groups: Vec::new(), columns: columns.collect(), rows, omitted }
}

/// One row for each area, and the number of areas that were omitted. `columns` have a title and a key; `href` returns the
/// link of a cell, without a column that of the whole row.
fn rows<K: Copy + Ord>(
    found: &BTreeMap<(&str, K), Verdicts>,
    columns: &[(String, K)],
    href: &dyn Fn(&str, Option<&K>) -> String,
) -> (Vec<Row>, usize) {
    let areas: BTreeSet<&str> = found.keys().map(|(area, _)| *area).collect();
    let shown = areas.iter().take(MAX_LINES).map(|&area| {
        let name = text::bounded_line(area, MAX_NAME);
        let mut sum = Verdicts::new();
        let cells = columns.iter().map(|(title, key)| {
            let verdicts = found.get(&(area, *key))?;
            verdicts.iter().for_each(|(verdict, count)| *sum.entry(*verdict).or_default() += count);
            Some(cell(verdicts, &format!("{name}, {title}"), href(area, Some(key))))
        });
        let cells = cells.collect();
        let total = (columns.len() > 1).then(|| cell(&sum, &format!("{name}, all"), href(area, None)));
        Row { name, cells, total }
    });
    (shown.collect(), areas.len().saturating_sub(MAX_LINES))
}

fn cell(verdicts: &Verdicts, title: &str, href: String) -> Cell {
    let verdict = verdicts.keys().next_back().copied().unwrap_or(Verdict::Skipped);
    let sum = |wanted: &dyn Fn(Verdict) -> bool| -> usize {
        verdicts.iter().filter(|(verdict, _)| wanted(**verdict)).map(|(_, count)| count).sum()
    };
    let judged = sum(&|verdict| verdict != Verdict::Skipped);
    let text = match verdict {
        Verdict::Skipped => sum(&|_| true).to_string(),
        Verdict::Passed => judged.to_string(),
        Verdict::Noted | Verdict::Warned => format!("{}/{judged}", sum(&|one| one == verdict)),
        Verdict::Flaky | Verdict::Blocked | Verdict::Failed => format!("{}/{judged}", sum(&Verdict::is_failure)),
    };
    let counts: Vec<String> =
        verdicts.iter().rev().map(|(verdict, count)| format!("{count} {}", verdict.as_str())).collect();
    // The accessible name contains the visible text (WCAG 2.5.3).
    let share = if text.contains('/') { format!(", {text}") } else { String::new() };
    let label = format!("{title}{share}: {}", counts.join(", "));
    Cell { verdict: verdict.as_str(), sign: sign(verdict), text, label, href }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn cases() -> Vec<CaseResult> {
        let mut other = sample::case("tools/three", Verdict::Skipped);
        other.transport = "streamable-http".to_owned();
        vec![
            sample::case("tools/one", Verdict::Passed),
            sample::case("tools/two", Verdict::Failed),
            sample::case("auth/one", Verdict::Warned),
            other,
        ]
    }

    #[test]
    fn a_cell_counts_the_cases_of_its_area_transport_and_revision() {
        let matrix = for_run(&sample::run(cases()), 0, 1).unwrap();
        assert_eq!(matrix.groups, [("stdio".to_owned(), 1), ("streamable-http".to_owned(), 1)]);
        let shown: Vec<_> = matrix
            .rows
            .iter()
            .map(|row| {
                let cells: Vec<_> = row.cells.iter().map(|cell| cell.as_ref().map(|cell| cell.text.as_str())).collect();
                (row.name.as_str(), cells, row.total.as_ref().map(|cell| cell.label.as_str()))
            })
            .collect();
        assert_eq!(
            shown,
            [
                ("auth", vec![Some("1/1"), None], Some("auth, all, 1/1: 1 warned")),
                ("tools", vec![Some("1/2"), Some("1")], Some("tools, all, 1/2: 1 failed, 1 passed, 1 skipped")),
            ]
        );
        let href = &matrix.rows[1].cells[0].as_ref().unwrap().href;
        assert_eq!(href, "#cases?area=tools&transport=stdio&revision=2025-11-25");
    }

    #[test]
    fn a_case_of_a_server_counts_in_the_areas_of_its_checks() {
        let mut run = sample::run(vec![sample::case("server/tools", Verdict::Failed)]);
        run.header.kind = RunKind::Validate;
        let mut check = sample::check(Verdict::Passed);
        check.requirement.id = "tools/list".to_owned();
        run.cases[0].checks.push(check);
        let shown = areas(&run, &run.cases[0]);
        assert_eq!(
            shown.into_iter().collect::<Vec<_>>(),
            [("lifecycle.timeouts.cancel", Verdict::Failed), ("tools", Verdict::Passed)]
        );
    }

    #[test]
    fn several_runs_have_a_column_each() {
        let mut second = sample::run(vec![sample::case("tools/one", Verdict::Passed)]);
        second.header.subject = "other client".to_owned();
        let matrix = subjects(&[sample::run(cases()), second]);
        let heads: Vec<_> = matrix.columns.iter().map(|column| (column.name.as_str(), column.verdict)).collect();
        assert_eq!(heads, [("built-in client", Some("failed")), ("other client", Some("passed"))]);
        let auth = &matrix.rows[0];
        assert!(auth.cells[1].is_none());
        assert_eq!(auth.cells[0].as_ref().unwrap().href, "#cases?area=auth&run=0");
    }

    #[test]
    fn a_file_with_many_areas_does_not_make_an_endless_table() {
        let cases = (0..1_000).map(|number| sample::case(&format!("area{number}/one"), Verdict::Passed)).collect();
        let matrix = for_run(&sample::run(cases), 0, 1).unwrap();
        assert_eq!((matrix.rows.len(), matrix.omitted), (MAX_LINES, 900));
    }
}
