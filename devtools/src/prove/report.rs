//! The results of `prove`, and their table.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write},
    time::Duration,
};

use diagnostics::printable;
use reports::model::Verdict;
use scenarios::{judge::checks, model::Subject};
use serde::Serialize;

use super::{
    Level,
    mutant::{Defect, Endpoint, STEPS, Server},
    validation::{Finding, Findings},
};

/// More failed checks than this for one defect are reported: one cause should give one finding.
const MAX_FINDINGS: usize = 3;

/// The result of one server on one endpoint.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Row {
    id: String,
    area: String,
    endpoint: String,
    about: String,
    /// `None` for a correct server.
    level: Option<Level>,
    /// The checks of which at least one has to detect the defect.
    expected: BTreeSet<String>,
    passed: bool,
    /// The duration of its validation.
    elapsed_ms: u128,
    /// The checks that failed or could not be judged, each with its observation.
    failed: BTreeMap<String, String>,
    /// The checks that warned.
    warned: BTreeMap<String, String>,
    /// The error that stopped the validation.
    error: Option<String>,
}

impl Row {
    pub(super) fn new(
        server: &Server,
        endpoint: &Endpoint,
        found: anyhow::Result<Findings>,
        elapsed: Duration,
    ) -> Self {
        let elapsed_ms = elapsed.as_millis();
        let (findings, error) = match found {
            Ok(findings) => (findings, None),
            Err(error) => (Findings::default(), Some(format!("{error:#}"))),
        };
        let of = |wanted: fn(Verdict) -> bool| -> BTreeMap<String, String> {
            let matching = findings.0.iter().filter(|(_, finding)| wanted(finding.verdict));
            matching.map(|(id, finding)| (id.clone(), finding.observed.clone())).collect()
        };
        let (failed, warned) = (of(Verdict::is_failure), of(|verdict| verdict == Verdict::Warned));
        let passed = match &server.defect {
            None => error.is_none() && failed.is_empty(),
            Some(defect) => detected(defect, &findings),
        };
        let level = server.defect.as_ref().map(|defect| defect.level);
        let expected = server.defect.as_ref().map(|defect| defect.checks.clone()).unwrap_or_default();
        let (id, area, endpoint) = (server.id.clone(), server.area().to_owned(), endpoint.name());
        Self {
            id,
            area,
            endpoint,
            about: server.about.clone(),
            level,
            expected,
            passed,
            elapsed_ms,
            failed,
            warned,
            error,
        }
    }
}

/// Whether one of the named checks detects the defect. A check that could not be judged does not.
fn detected(defect: &Defect, findings: &Findings) -> bool {
    let step = |(id, finding): (&String, &Finding)| id.starts_with("steps[") && finding.verdict.is_failure();
    if defect.checks.contains(STEPS) && findings.0.iter().any(step) {
        return true;
    }
    let named = |id: &String| defect.checks.is_empty() || defect.checks.contains(id);
    let enough = |verdict| match defect.level {
        Level::Must => verdict == Verdict::Failed,
        Level::Should => matches!(verdict, Verdict::Failed | Verdict::Warned),
    };
    findings.0.iter().any(|(id, finding)| named(id) && enough(finding.verdict))
}

/// The results of all servers.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    rows: Vec<Row>,
    /// The checks that detected no defect, if all servers were validated.
    unproved: Vec<String>,
    /// The checks that need no mutant although one detects a defect.
    stale: Vec<String>,
}

impl Report {
    /// The report of these rows. `exempt` are the checks that need no mutant; without it, checks are not counted.
    pub(super) fn new(rows: Vec<Row>, exempt: Option<&BTreeMap<String, String>>) -> Self {
        let detecting: BTreeSet<&String> = rows
            .iter()
            .filter(|row| row.level.is_some())
            .flat_map(|row| row.failed.keys().chain(row.warned.keys()))
            .collect();
        let (mut unproved, mut stale) = (Vec::new(), Vec::new());
        if let Some(exempt) = exempt {
            let ids: BTreeSet<String> = checks::for_subject(Subject::Server).map(|check| check.id.to_owned()).collect();
            unproved = ids.iter().filter(|id| !detecting.contains(id) && !exempt.contains_key(*id)).cloned().collect();
            stale = exempt.keys().filter(|id| detecting.contains(id)).cloned().collect();
        }
        Self { rows, unproved, stale }
    }

    /// Whether every defect was detected, every correct server passed, and every check detected a defect.
    pub(super) fn passed(&self) -> bool {
        self.rows.iter().all(|row| row.passed) && self.unproved.is_empty() && self.stale.is_empty()
    }

    /// Prints the report.
    pub(super) fn print(&self, json: bool) -> io::Result<()> {
        let mut out = io::stdout().lock();
        if json {
            return writeln!(out, "{}", serde_json::to_string_pretty(self)?);
        }
        self.print_areas(&mut out)?;
        self.print_missed(&mut out)?;
        self.print_many(&mut out)?;
        for (title, checks) in [
            ("checks that detect no defect", &self.unproved),
            ("checks of unproved.yaml that detect a defect", &self.stale),
        ] {
            if !checks.is_empty() {
                writeln!(out, "\n{title}: {}\n  {}", checks.len(), checks.join("\n  "))?;
            }
        }
        let count = |mutants: bool| {
            let rows = self.rows.iter().filter(|row| row.level.is_some() == mutants);
            rows.fold((0, 0), |(passed, all), row| (passed + usize::from(row.passed), all + 1))
        };
        let ((found, mutants), (passed, correct)) = (count(true), count(false));
        writeln!(out, "\n{found} of {mutants} defects detected, {passed} of {correct} correct servers passed")
    }

    fn print_areas(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{:<22} {:>9} {:>9}", "area", "MUST", "SHOULD")?;
        let areas: BTreeSet<&String> =
            self.rows.iter().filter(|row| row.level.is_some()).map(|row| &row.area).collect();
        for area in areas {
            let count = |level| {
                let rows: Vec<_> =
                    self.rows.iter().filter(|row| row.area == *area && row.level == Some(level)).collect();
                let found = rows.iter().filter(|row| row.passed).count();
                if rows.is_empty() { "-".to_owned() } else { format!("{found}/{}", rows.len()) }
            };
            writeln!(out, "{area:<22} {:>9} {:>9}", count(Level::Must), count(Level::Should))?;
        }
        Ok(())
    }

    fn print_missed(&self, out: &mut impl Write) -> io::Result<()> {
        for row in self.rows.iter().filter(|row| !row.passed) {
            let kind = row.level.map_or_else(|| "correct server failed".to_owned(), |level| format!("{level} missed"));
            writeln!(out, "\n{kind}: {} ({}): {}", row.id, row.endpoint, row.about)?;
            if !row.expected.is_empty() {
                let expected: Vec<_> = row.expected.iter().map(String::as_str).collect();
                writeln!(out, "  expected: {}", expected.join(", "))?;
            }
            for (word, checks) in [("failed", &row.failed), ("warned", &row.warned)] {
                for (id, observed) in checks {
                    writeln!(out, "  {word}: {id}: {}", printable(observed))?;
                }
            }
            if let Some(error) = &row.error {
                writeln!(out, "  error: {}", printable(error))?;
            }
        }
        Ok(())
    }

    /// Defects that many checks report.
    fn print_many(&self, out: &mut impl Write) -> io::Result<()> {
        for row in self.rows.iter().filter(|row| row.level.is_some() && row.failed.len() > MAX_FINDINGS) {
            let failed: Vec<_> = row.failed.keys().map(String::as_str).collect();
            writeln!(out, "\n{} failed checks: {} ({}): {}", failed.len(), row.id, row.endpoint, failed.join(", "))?;
        }
        Ok(())
    }
}
