//! SARIF 2.1.0 for code scanning: requirements are the rules, checks that did not pass are the results.
//!
//! A result has no line of source code, which is unknown for a server behind a command or a URL. Code scanning needs a file, so
//! the location is the scenario that shows the violation, and the case is the logical location.
//!
//! The [specification](https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html) defines the objects; [`log`] has
//! the part of them that is used.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use super::{Format, RenderError, Style, outcome, severity::Severity, text};
use crate::model::{CaseResult, CheckResult, Level, LoadResult, Run, RunKind, Verdict};
use log::{
    Artifact, AutomationDetails, Configuration, Driver, Invocation, Location, Log, LogicalLocation, Message,
    Notification, PhysicalLocation, Region, ReportingDescriptor, SarifResult, SarifRun, Suppression, Tool,
};

mod log;

/// Maximum number of results, the most severe ones. GitHub shows 5,000 and rejects files with more than 25,000.
const MAX_RESULTS: usize = 5_000;
/// Rule of the results of load tests, which no requirement of the specification has.
const LOAD_RULE: &str = "load/thresholds";
/// Name of the fingerprint: its version changes with the parts that it is computed from.
const FINGERPRINT: &str = "mcpWorkbench/v1";

/// A SARIF log.
#[derive(Debug)]
pub struct Sarif;

impl Format for Sarif {
    fn name(&self) -> &'static str {
        "sarif"
    }

    fn about(&self) -> &'static str {
        "SARIF 2.1.0 for code scanning"
    }

    fn file_name(&self) -> &'static str {
        "results.sarif"
    }

    fn render(&self, run: &Run, _: &Style) -> Result<String, RenderError> {
        let text =
            serde_json::to_string_pretty(&log_of(run, MAX_RESULTS)).map_err(|error| RenderError::new(self, error))?;
        Ok(text + "\n")
    }
}

/// The log of a run, with at most `limit` results.
fn log_of(run: &Run, limit: usize) -> Log {
    let mut found = findings(run);
    let omitted = found.len().saturating_sub(limit);
    found.truncate(limit);
    let (rules, positions) = rules(&found);
    let results = found.iter().map(|finding| finding.result(positions[finding.rule_id()])).collect();
    let kind = match run.header.kind {
        RunKind::Conformance => "conformance",
        RunKind::Validate => "validate",
        RunKind::Bench => "bench",
    };
    let driver = Driver {
        name: "mcp-workbench",
        version: text::bounded_line(&run.header.workbench, 100),
        information_uri: env!("CARGO_PKG_REPOSITORY"),
        rules,
    };
    Log::new(SarifRun {
        tool: Tool { driver },
        automation_details: AutomationDetails { id: format!("mcp-workbench/{kind}/") },
        invocations: vec![Invocation {
            execution_successful: run.complete,
            tool_execution_notifications: notifications(run, omitted),
        }],
        results,
        column_kind: "unicodeCodePoints",
    })
}

/// A check or a load test that did not pass.
enum Finding<'r> {
    Check { case: &'r CaseResult, check: &'r CheckResult, severity: Severity, is_known: bool },
    Load { load: &'r LoadResult, failure: String },
}

/// All findings, the most severe ones first; equal ones in the order of the run.
fn findings(run: &Run) -> Vec<Finding<'_>> {
    let of_case = |case| {
        let is_known = outcome::is_known(run, case);
        case.checks.iter().filter_map(move |check| {
            let severity = Severity::new(run, check.verdict, is_known)?;
            Some(Finding::Check { case, check, severity, is_known })
        })
    };
    let of_load = |load| {
        let failures = outcome::failed_thresholds(load).map(move |failure| Finding::Load { load, failure });
        let silent = (load.succeeded == 0).then(|| Finding::Load { load, failure: "all calls failed".to_owned() });
        failures.chain(silent)
    };
    let mut found: Vec<_> = run.loads.iter().flat_map(of_load).collect();
    found.extend(run.cases.iter().flat_map(of_case));
    found.sort_by_key(Finding::severity);
    found
}

impl Finding<'_> {
    fn severity(&self) -> Severity {
        match self {
            Self::Check { severity, .. } => *severity,
            Self::Load { .. } => Severity::Error,
        }
    }

    fn rule_id(&self) -> &str {
        match self {
            Self::Check { check, .. } => &check.requirement.id,
            Self::Load { .. } => LOAD_RULE,
        }
    }

    fn rule(&self) -> ReportingDescriptor {
        match self {
            Self::Check { check, .. } => {
                let requirement = &check.requirement;
                let help = requirement.advice.as_ref().unwrap_or(&requirement.text);
                let level = match requirement.level {
                    Level::Must | Level::Expected => Severity::Error,
                    Level::Should => Severity::Warning,
                };
                ReportingDescriptor {
                    id: text::bounded_line(&requirement.id, 200),
                    short_description: message(&requirement.text),
                    help: message(help),
                    help_uri: is_link(&requirement.url).then(|| requirement.url.clone()),
                    default_configuration: Configuration { level: level_name(level) },
                }
            }
            Self::Load { .. } => ReportingDescriptor {
                id: LOAD_RULE.to_owned(),
                short_description: message("A load test meets its thresholds, and at least one call succeeds."),
                help: message("The report of the load test has the measured values."),
                help_uri: None,
                default_configuration: Configuration { level: level_name(Severity::Error) },
            },
        }
    }

    fn result(&self, rule_index: usize) -> SarifResult {
        let level = level_name(self.severity());
        let rule_id = text::bounded_line(self.rule_id(), 200);
        match self {
            Self::Check { case, check, is_known, .. } => SarifResult {
                rule_id,
                rule_index,
                level,
                message: message(&sentence(check)),
                locations: vec![location(&case.scenario, &case.id)],
                partial_fingerprints: fingerprints(&[&case.id, &check.id]),
                suppressions: is_known.then(|| vec![Suppression::baseline()]),
            },
            Self::Load { load, failure } => SarifResult {
                rule_id,
                rule_index,
                level,
                message: message(&format!("{}: {failure}", load.name)),
                locations: vec![location(&load.name, &load.name)],
                // The measured value differs in each run.
                partial_fingerprints: fingerprints(&[&load.name, failure.split(" (measured").next().unwrap_or("")]),
                suppressions: None,
            },
        }
    }
}

fn sentence(check: &CheckResult) -> String {
    let word = if check.verdict == Verdict::Blocked { "blocked because" } else { "observed" };
    format!("{}: expected {}; {word} {}", check.id, check.expected, check.observed)
}

/// The rules of the findings, each once, and their positions.
fn rules<'f>(found: &'f [Finding<'_>]) -> (Vec<ReportingDescriptor>, BTreeMap<&'f str, usize>) {
    let mut rules = Vec::new();
    let mut positions = BTreeMap::new();
    for finding in found {
        positions.entry(finding.rule_id()).or_insert_with(|| {
            rules.push(finding.rule());
            rules.len() - 1
        });
    }
    (rules, positions)
}

/// Reasons why the run failed that belong to no check, and the number of results that were omitted.
fn notifications(run: &Run, omitted: usize) -> Vec<Notification> {
    let failures = outcome::run_failures(run).into_iter().map(|(_, sentence)| sentence);
    let mut notifications: Vec<Notification> = failures
        .map(|sentence| Notification { level: level_name(Severity::Error), message: message(&sentence) })
        .collect();
    if omitted > 0 {
        let sentence = format!("{omitted} less severe results were omitted; the JSON report has them");
        notifications.push(Notification { level: level_name(Severity::Warning), message: message(&sentence) });
    }
    notifications
}

fn level_name(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

/// Plain text. Viewers make links of `[text](1)` in messages, and a brace starts a placeholder, so both are escaped as the
/// specification says (3.11.5 and 3.11.6).
fn message(text: &str) -> Message {
    let mut out = String::new();
    for character in text::line(text).chars() {
        match character {
            '[' | ']' | '\\' => out.extend(['\\', character]),
            '{' | '}' => out.extend([character, character]),
            _ => out.push(character),
        }
    }
    Message { text: out }
}

fn location(scenario: &str, case: &str) -> Location {
    Location {
        physical_location: PhysicalLocation {
            artifact_location: Artifact { uri: format!("{}.yaml", path(scenario)) },
            region: Region { start_line: 1 },
        },
        logical_locations: vec![LogicalLocation { fully_qualified_name: text::bounded_line(case, 300), kind: "case" }],
    }
}

/// A relative URI. Anything but letters, digits, `-`, `_` and `/` is encoded, so that it has no scheme and no `..`.
fn path(scenario: &str) -> String {
    let mut out = String::new();
    for byte in scenario.bytes().take(200) {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => out.push(char::from(byte)),
            b'/' if !out.is_empty() && !out.ends_with('/') => out.push('/'),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    if out.is_empty() { "run".to_owned() } else { out }
}

/// The same for the same check of the same case in each run, whatever was observed.
fn fingerprints(parts: &[&str]) -> BTreeMap<&'static str, String> {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    let hex: String = hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    BTreeMap::from([(FINGERPRINT, hex)])
}

/// Whether the text is an HTTP URL without characters that a URI must encode.
fn is_link(url: &str) -> bool {
    let plain = url.chars().all(|character| character.is_ascii_graphic() && !"<>[]|\\\"'`^{}".contains(character));
    plain && (url.starts_with("https://") || url.starts_with("http://"))
}

#[cfg(test)]
mod tests;
