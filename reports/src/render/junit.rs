//! The run as JUnit XML, for CI systems.
//!
//! JUnit has no single schema. The file is valid against Jenkins' `junit-10.xsd`, and without warnings also against the
//! Apache Ant task's `JUnit.xsd`. Therefore the root has no attributes, and every suite has properties and both outputs;
//! tests check these rules. A case with a warning is a test case that passed, and its output is the warning: only Ant's schema
//! forbids the output of a test case, and a warning elsewhere is not shown by CI systems.
//!
//! The file has failures exactly if the run failed. Reasons other than cases (an interruption, a stale baseline entry, a
//! run without results) are test cases of the suite `workbench`. A known failure is skipped.

use std::time::Duration;

use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};

use super::{
    Format, RenderError, Style,
    case::{self, CaseStyle},
    outcome,
    paint::Paint,
    text,
};
use crate::model::{CaseResult, LoadResult, Run, Verdict};

/// Wrap width of text in the file; viewers of CI systems do not wrap it.
const WIDTH: usize = 120;
const MAX_ATTRIBUTE: usize = 500;
const LOADS: &str = "load tests";
const WORKBENCH: &str = "workbench";

/// JUnit XML: one suite for each area of the catalog, one for load tests, one for the run itself.
#[derive(Debug)]
pub struct Junit;

impl Format for Junit {
    fn name(&self) -> &'static str {
        "junit"
    }

    fn about(&self) -> &'static str {
        "JUnit XML for CI systems"
    }

    fn file_name(&self) -> &'static str {
        "junit.xml"
    }

    fn render(&self, run: &Run, _: &Style) -> Result<String, RenderError> {
        let mut suites = scenario_suites(run);
        suites.extend(load_suite(&run.loads));
        suites.extend(workbench_suite(run));
        let mut report = Report::unnamed();
        for (position, mut suite) in suites.into_iter().enumerate() {
            complete(&mut suite, run, position);
            report.add_test_suite(suite);
        }
        let xml = report.to_string().map_err(|error| RenderError::new(self, error))?;
        Ok(without_root_attributes(&xml))
    }
}

fn scenario_suites(run: &Run) -> Vec<TestSuite> {
    let mut suites: Vec<TestSuite> = Vec::new();
    for result in &run.cases {
        let area = area(result);
        let position = suites.iter().position(|suite| *suite.name == *area).unwrap_or_else(|| {
            suites.push(TestSuite::new(area.as_str()));
            suites.len() - 1
        });
        suites[position].add_test_case(scenario_case(run, result, &area));
    }
    suites
}

/// The area of the catalog that a case belongs to: not empty, and different from `LOADS` and `WORKBENCH`.
fn area(result: &CaseResult) -> String {
    let area = result.scenario.split('/').next().unwrap_or_default().trim();
    let area = text::bounded_line(area, MAX_ATTRIBUTE);
    if area.is_empty() || area == LOADS || area == WORKBENCH { format!("area {area:?}") } else { area }
}

fn scenario_case(run: &Run, result: &CaseResult, area: &str) -> TestCase {
    let detail = || {
        let style = CaseStyle { paint: Paint::PLAIN, width: WIDTH, all: false };
        format!("{}\n{}", text::bounded_line(&result.title, MAX_ATTRIBUTE), case::detail(result, style))
    };
    let first = result.checks.first();
    let message = first.map_or_else(|| result.title.clone(), |check| check.observed.clone());
    let kind = first.map_or(result.verdict.as_str(), |check| check.id.as_str());
    let status = if outcome::is_known(run, result) {
        let mut status = TestCaseStatus::skipped();
        status.set_message(attribute(&format!("known failure (baseline): {message}"))).set_type("known-failure");
        status
    } else {
        match result.verdict {
            Verdict::Skipped => {
                let mut status = TestCaseStatus::skipped();
                status.set_message(attribute(&message)).set_type("does-not-apply");
                status
            }
            Verdict::Blocked => non_success(NonSuccessKind::Error, kind, &message, &detail()),
            verdict if !run.header.policy.fails(verdict) => TestCaseStatus::success(),
            Verdict::Passed | Verdict::Noted | Verdict::Warned | Verdict::Flaky | Verdict::Failed => {
                non_success(NonSuccessKind::Failure, kind, &message, &detail())
            }
        }
    };
    let name = result.id.split_once('/').map_or(result.id.as_str(), |(_, name)| name);
    let passed = matches!(status, TestCaseStatus::Success { .. });
    let mut case = test_case(name, area, Duration::from_millis(result.elapsed_ms), status);
    if passed && result.verdict > Verdict::Passed {
        case.set_system_out(format!("{} {}", result.verdict.as_str().to_uppercase(), detail()));
    }
    case
}

fn load_suite(loads: &[LoadResult]) -> Option<TestSuite> {
    let mut suite = TestSuite::new(LOADS);
    for load in loads {
        let status = if load.passed() { TestCaseStatus::success() } else { failed_load(load) };
        let name = format!("{} ({}; {})", load.name, load.transport, load.shape);
        let mut case = test_case(&name, LOADS, Duration::from_millis(load.counted_ms), status);
        if load.passed() && !load.warnings.is_empty() {
            let warnings: Vec<String> = load.warnings.iter().map(|warning| text::line(warning)).collect();
            case.set_system_out(format!("WARNED {}", warnings.join("\n")));
        }
        suite.add_test_case(case);
    }
    (suite.tests > 0).then_some(suite)
}

fn failed_load(load: &LoadResult) -> TestCaseStatus {
    let mut lines: Vec<String> = outcome::failed_thresholds(load).collect();
    if load.succeeded == 0 {
        lines.push("all calls failed".to_owned());
    }
    for (kind, count) in load.errors.iter().take(20) {
        lines.push(format!("errors: {kind} ({count})"));
        lines.extend(outcome::sample(load, kind));
    }
    lines.extend(load.warnings.iter().map(|warning| format!("warning: {warning}")));
    let message = lines.first().map_or("failed", String::as_str);
    let body: Vec<String> = lines.iter().map(|line| text::line(line)).collect();
    non_success(NonSuccessKind::Failure, "threshold", message, &body.join("\n"))
}

fn workbench_suite(run: &Run) -> Option<TestSuite> {
    let mut suite = TestSuite::new(WORKBENCH);
    for (position, (name, sentence)) in outcome::run_failures(run).into_iter().enumerate() {
        let status = non_success(NonSuccessKind::Error, name, &sentence, &sentence);
        suite.add_test_case(test_case(&format!("{name} {}", position + 1), WORKBENCH, Duration::ZERO, status));
    }
    (suite.tests > 0).then_some(suite)
}

fn test_case(name: &str, class: &str, time: Duration, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(attribute(name), status);
    case.set_classname(class).set_time(time);
    case
}

fn non_success(kind: NonSuccessKind, ty: &str, message: &str, body: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status.set_type(attribute(ty)).set_message(attribute(message)).set_description(body);
    status
}

fn attribute(value: &str) -> String {
    text::bounded_line(value, MAX_ATTRIBUTE)
}

/// Adds the properties, outputs and attributes that the Ant task's schema requires.
fn complete(suite: &mut TestSuite, run: &Run, position: usize) {
    let header = &run.header;
    let seed = header.seed.to_string();
    let properties =
        [("workbench", &header.workbench), ("run", &header.run_id), ("subject", &header.subject), ("seed", &seed)];
    suite.add_properties(properties.map(|(name, value)| Property::new(name, attribute(value))));
    let warned = suite.test_cases.iter().filter(|case| case.system_out.is_some()).count();
    suite.add_property(Property::new("warned", warned.to_string()));
    suite.set_time(suite.test_cases.iter().filter_map(|case| case.time).fold(Duration::ZERO, Duration::saturating_add));
    suite.set_system_out("");
    suite.set_system_err("");
    let package = suite.name.clone();
    // The library's own field writes a time zone, which the schema forbids.
    suite.extra.insert("timestamp".into(), timestamp(&header.started).into());
    suite.extra.insert("hostname".into(), "localhost".into());
    suite.extra.insert("package".into(), package);
    suite.extra.insert("id".into(), position.to_string().into());
}

/// The date and time of an RFC 3339 string without its time zone, or the epoch: the schema requires a timestamp.
fn timestamp(started: &str) -> &str {
    const SHAPE: &str = "dddd-dd-ddTdd:dd:dd";
    let fits = |text: &&str| {
        let shape = SHAPE.bytes().zip(text.bytes());
        let parts = [(5..7, 1..=12), (8..10, 1..=31), (11..13, 0..=23), (14..16, 0..=59), (17..19, 0..=59)];
        shape.clone().all(|(shape, byte)| if shape == b'd' { byte.is_ascii_digit() } else { shape == byte })
            && parts
                .into_iter()
                .all(|(part, range)| text[part.clone()].parse().is_ok_and(|part: u8| range.contains(&part)))
    };
    started.get(..SHAPE.len()).filter(fits).unwrap_or("1970-01-01T00:00:00")
}

/// Removes the attributes of the root element. The library always writes `skipped`, which Jenkins' schema forbids, and
/// the Ant task's schema forbids all attributes.
fn without_root_attributes(xml: &str) -> String {
    const ROOT: &str = "<testsuites";
    let Some(start) = xml.find(ROOT).map(|start| start + ROOT.len()) else { return xml.to_owned() };
    // The unnamed root has only counts as attributes, so the first `>` ends it.
    let Some(length) = xml[start..].find('>') else { return xml.to_owned() };
    format!("{}{}", &xml[..start], &xml[start + length..])
}

#[cfg(test)]
pub(crate) mod check;
#[cfg(test)]
mod tests;
