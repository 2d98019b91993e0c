//! The run as a JUnit XML file, for CI systems.
//!
//! There is no one JUnit schema. The file holds against both that are in common use: Jenkins' `junit-10.xsd` and the one
//! of the Apache Ant task (`JUnit.xsd`). That is why the root has no attributes, a test case has no children but its
//! outcome, and each suite has properties and both outputs; the tests hold these rules.
//!
//! The file is red exactly when the run did not hold: what is not a case but makes a run fail (an interruption, a stale
//! baseline entry, a run that judged nothing) is a test case of the suite `workbench`, and a known failure is skipped.

use std::time::Duration;

use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};

use crate::model::{CaseResult, LoadResult, Run, Verdict};

use super::case::{self, Look};
use super::outcome;
use super::paint::Paint;
use super::text;

pub use quick_junit::SerializeError;

/// The columns to which texts are wrapped; the viewers of CI systems do not wrap them.
const WIDTH: usize = 120;
const ATTRIBUTE_LIMIT: usize = 500;
const LOADS: &str = "load tests";
const WORKBENCH: &str = "workbench";

/// The run as JUnit XML: a suite for each area of the catalogue, one for the load tests, one for the run itself.
///
/// # Errors
/// When the XML library refuses to write; no run is known that makes it do so.
pub fn render(run: &Run) -> Result<String, SerializeError> {
    let mut suites: Vec<TestSuite> = Vec::new();
    for result in &run.cases {
        let area = area(result);
        let position = suites.iter().position(|suite| *suite.name == *area).unwrap_or_else(|| {
            suites.push(TestSuite::new(area.as_str()));
            suites.len() - 1
        });
        let suite = &mut suites[position];
        if result.verdict == Verdict::Warned {
            append_warning(suite, result);
        }
        suite.add_test_case(scenario_case(run, result, &area));
    }
    suites.extend(load_suite(&run.loads));
    suites.extend(workbench_suite(run));
    let mut report = Report::unnamed();
    for (position, mut suite) in suites.into_iter().enumerate() {
        complete(&mut suite, run, position);
        report.add_test_suite(suite);
    }
    Ok(with_bare_root(&report.to_string()?))
}

/// The area of the catalogue that a case belongs to; never empty, and never the name of one of our own suites.
fn area(result: &CaseResult) -> String {
    let area = result.scenario.split('/').next().unwrap_or_default().trim();
    let area = text::bounded_line(area, ATTRIBUTE_LIMIT);
    if area.is_empty() || area == LOADS || area == WORKBENCH { format!("area {area:?}") } else { area }
}

fn scenario_case(run: &Run, result: &CaseResult, area: &str) -> TestCase {
    let detail = || {
        let look = Look { paint: Paint::PLAIN, width: WIDTH, all: false };
        format!("{}\n{}", text::bounded_line(&result.title, ATTRIBUTE_LIMIT), case::detail(result, look))
    };
    let first = result.judgements.first();
    let message = first.map_or_else(|| result.title.clone(), |judgement| judgement.observed.clone());
    let kind = first.map_or(result.verdict.word(), |judgement| judgement.id.as_str());
    let status = if outcome::is_known(run, result) {
        let mut status = TestCaseStatus::skipped();
        status.set_message(attribute(&format!("known failure (baseline): {message}"))).set_type("known-failure");
        status
    } else {
        match result.verdict {
            Verdict::Passed | Verdict::Warned => TestCaseStatus::success(),
            Verdict::Skipped => {
                let mut status = TestCaseStatus::skipped();
                status.set_message(attribute(&message)).set_type("does-not-apply");
                status
            }
            Verdict::Blocked => broken(NonSuccessKind::Error, kind, &message, &detail()),
            Verdict::Failed => broken(NonSuccessKind::Failure, kind, &message, &detail()),
        }
    };
    let name = result.id.split_once('/').map_or(result.id.as_str(), |(_, name)| name);
    test_case(name, area, Duration::from_millis(result.elapsed_ms), status)
}

fn load_suite(loads: &[LoadResult]) -> Option<TestSuite> {
    let mut suite = TestSuite::new(LOADS);
    for load in loads {
        let status = if load.held() {
            TestCaseStatus::success()
        } else {
            let broken_ones = load.thresholds.iter().filter(|threshold| !threshold.held);
            let mut lines: Vec<String> = broken_ones
                .map(|threshold| format!("threshold broken: {} (measured {})", threshold.threshold, threshold.measured))
                .collect();
            if load.succeeded == 0 {
                lines.push("not one call succeeded".to_owned());
            }
            lines.extend(load.errors.iter().take(20).map(|(kind, count)| format!("errors: {kind} ({count})")));
            lines.extend(load.warnings.iter().map(|warning| format!("warning: {warning}")));
            let body: Vec<String> = lines.iter().map(|line| text::line(line)).collect();
            broken(
                NonSuccessKind::Failure,
                "threshold",
                lines.first().map_or("did not hold", String::as_str),
                &body.join("\n"),
            )
        };
        let name = format!("{} ({}; {})", load.name, load.transport, load.shape);
        suite.add_test_case(test_case(&name, LOADS, Duration::from_millis(load.counted_ms), status));
    }
    (suite.tests > 0).then_some(suite)
}

fn workbench_suite(run: &Run) -> Option<TestSuite> {
    let mut suite = TestSuite::new(WORKBENCH);
    for (position, (name, sentence)) in outcome::run_faults(run).into_iter().enumerate() {
        let status = broken(NonSuccessKind::Error, name, &sentence, &sentence);
        suite.add_test_case(test_case(&format!("{name} {}", position + 1), WORKBENCH, Duration::ZERO, status));
    }
    (suite.tests > 0).then_some(suite)
}

fn test_case(name: &str, class: &str, time: Duration, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(attribute(name), status);
    case.set_classname(class).set_time(time);
    case
}

fn broken(kind: NonSuccessKind, ty: &str, message: &str, body: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status.set_type(attribute(ty)).set_message(attribute(message)).set_description(body);
    status
}

fn attribute(value: &str) -> String {
    text::bounded_line(value, ATTRIBUTE_LIMIT)
}

/// A warning does not make a test case fail, and neither schema has a place for it within one.
fn append_warning(suite: &mut TestSuite, result: &CaseResult) {
    let look = Look { paint: Paint::PLAIN, width: WIDTH, all: false };
    let before = suite.system_out.take().map(|text| text.to_string()).unwrap_or_default();
    let id = text::bounded_line(&result.id, ATTRIBUTE_LIMIT);
    suite.set_system_out(format!("{before}warned {id}\n{}\n\n", case::detail(result, look)));
}

/// What the schema of the Ant task requires of each suite.
fn complete(suite: &mut TestSuite, run: &Run, position: usize) {
    let header = &run.header;
    let seed = header.seed.to_string();
    let properties =
        [("workbench", &header.workbench), ("run", &header.run_id), ("subject", &header.subject), ("seed", &seed)];
    suite.add_properties(properties.map(|(name, value)| Property::new(name, attribute(value))));
    suite.set_time(suite.test_cases.iter().filter_map(|case| case.time).fold(Duration::ZERO, Duration::saturating_add));
    if suite.system_out.is_none() {
        suite.set_system_out("");
    }
    suite.set_system_err("");
    let package = suite.name.clone();
    // Not through the library's own field: it writes a time zone, which the schema forbids.
    suite.extra.insert("timestamp".into(), timestamp(&header.started).into());
    suite.extra.insert("hostname".into(), "localhost".into());
    suite.extra.insert("package".into(), package);
    suite.extra.insert("id".into(), position.to_string().into());
}

/// The date and time of an RFC 3339 text, without its zone; the epoch where it is not one, since the schema demands one.
fn timestamp(started: &str) -> &str {
    const SHAPE: &str = "dddd-dd-ddTdd:dd:dd";
    let fits = |text: &&str| {
        let shape = SHAPE.bytes().zip(text.bytes());
        let parts = [(5..7, 1..=12), (8..10, 1..=31), (11..13, 0..=23), (14..16, 0..=59), (17..19, 0..=59)];
        shape.clone().all(|(shape, byte)| if shape == b'd' { byte.is_ascii_digit() } else { shape == byte })
            && parts
                .into_iter()
                .all(|(place, range)| text[place.clone()].parse().is_ok_and(|part: u8| range.contains(&part)))
    };
    started.get(..SHAPE.len()).filter(fits).unwrap_or("1970-01-01T00:00:00")
}

/// The text with a root that has no attributes: the library always writes `skipped`, which Jenkins' schema forbids
/// there, and the Ant task's schema forbids every attribute.
fn with_bare_root(xml: &str) -> String {
    const ROOT: &str = "<testsuites";
    let Some(start) = xml.find(ROOT).map(|start| start + ROOT.len()) else { return xml.to_owned() };
    // The root has counts only (it is unnamed), so the first `>` is its own.
    let Some(length) = xml[start..].find('>') else { return xml.to_owned() };
    format!("{}{}", &xml[..start], &xml[start + length..])
}

#[cfg(test)]
pub(crate) mod check;
#[cfg(test)]
mod tests;
