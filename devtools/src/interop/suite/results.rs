//! Judges the results of the official suite: a directory for each scenario with a file `checks.json`.
//!
//! The judgement is stricter than the summary of the suite, which passes every scenario without a failed check: also one that
//! crashed, skipped its checks or found none applicable. Here at least one check must succeed. The suite's validation of
//! messages does not count, because it succeeds without messages.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use serde::Deserialize;
use serde_json::Value;

use super::{
    super::outcome::{CheckStatus, Row},
    requirements::Expected,
};

/// The check that the suite adds to every scenario: all received messages are valid. It also succeeds without messages.
const SCHEMA_CHECK: &str = "wire-schema-valid";
/// Scenarios that the suite always skips.
const NEVER_EXECUTED: [&str; 1] = ["tasks-status-notifications"];
/// Checks that the suite skips in part, because the revision has no `initialize`.
const PARTLY_SKIPPED: [(&str, &str); 1] = [("http-standard-headers", "sep-2243-client-includes-standard-headers")];
/// Checks that must succeed, because the suite reports only `INFO` if the tested event never occurred.
const REQUIRED: [(&str, &str); 2] =
    [("server-sse-polling", "server-sse-disconnect-resume"), ("server-initialize", "server-session-id-visible-ascii")];

/// Prefix of the directory of a scenario; the name of the scenario and the time follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Prefix {
    /// Scenarios for servers.
    Server,
    /// Scenarios for authorization servers.
    Authorization,
    /// Scenarios for clients, without a prefix.
    Client,
}

impl Prefix {
    fn as_str(self) -> &'static str {
        match self {
            Self::Server => "server-",
            Self::Authorization => "authorization-server-",
            Self::Client => "",
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Check {
    id: String,
    status: Status,
    error_message: Option<String>,
    #[serde(default)]
    details: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum Status {
    Success,
    Failure,
    Warning,
    Skipped,
    Info,
}

/// Judges each expected scenario by the directory of results.
///
/// # Errors
/// If the directory of results cannot be read.
pub(in super::super) fn judge_results(
    directory: &Path,
    prefix: Prefix,
    expected: Vec<Expected>,
) -> anyhow::Result<Vec<Row>> {
    judge_each(directory, prefix, expected, judge)
}

/// Judges a server without the fixtures of the suite. Skipped checks, and checks that the suite marks as untestable, do not
/// count.
///
/// # Errors
/// As [`judge_results`].
pub(super) fn judge_without_fixtures(directory: &Path, expected: Vec<Expected>) -> anyhow::Result<Vec<Row>> {
    judge_each(directory, Prefix::Server, expected, |scenario, text| match serde_json::from_str::<Vec<Check>>(text) {
        Ok(checks) => row_from(scenario, &checks.into_iter().filter(is_for_any_server).collect::<Vec<_>>()),
        Err(_) => judge(scenario, text),
    })
}

fn is_for_any_server(check: &Check) -> bool {
    check.status != Status::Skipped && check.details["untestable"] != true
}

fn judge_each(
    directory: &Path,
    prefix: Prefix,
    expected: Vec<Expected>,
    judge: impl Fn(&str, &str) -> Row,
) -> anyhow::Result<Vec<Row>> {
    let mut found = HashMap::new();
    for (name, path) in scenario_directories(directory)? {
        if let Some(scenario) = scenario_of(&name, prefix) {
            found.insert(scenario.to_owned(), fs::read_to_string(path.join("checks.json")).ok());
        }
    }
    let judged = expected.into_iter().map(|Expected { scenario, kind }| {
        let row = match found.get(&scenario) {
            None => Row::new(&scenario, Some("the suite has not run it".to_owned())),
            Some(None) => Row::new(&scenario, Some("the scenario crashed and wrote no checks".to_owned())),
            Some(Some(text)) => judge(&scenario, text),
        };
        Row { kind: Some(kind), ..row }
    });
    Ok(judged.collect())
}

/// The directories of scenarios by name; those of scenarios such as `auth/dpop` are one level deeper.
fn scenario_directories(directory: &Path) -> anyhow::Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).context("the suite wrote no results")? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() && !entry.path().join("checks.json").exists() {
            for inner in fs::read_dir(entry.path())? {
                let inner = inner?;
                found.push((format!("{name}/{}", inner.file_name().to_string_lossy()), inner.path()));
            }
        }
        found.push((name, entry.path()));
    }
    Ok(found)
}

/// `server-ping-2026-11-22T02-53-33-156Z` is the scenario `ping`.
fn scenario_of(directory: &str, prefix: Prefix) -> Option<&str> {
    const TIME: &str = "-2026-11-22T02-53-33-156Z";
    let rest = directory.strip_prefix(prefix.as_str())?;
    let (scenario, time) = rest.split_at_checked(rest.len().checked_sub(TIME.len())?)?;
    let alike = |(shape, character): (char, char)| match shape {
        '0'..='9' => character.is_ascii_digit(),
        _ => shape == character,
    };
    TIME.chars().zip(time.chars()).all(alike).then_some(scenario)
}

/// Judges one scenario by its `checks.json`.
fn judge(scenario: &str, text: &str) -> Row {
    match serde_json::from_str::<Vec<Check>>(text) {
        Ok(checks) => row_from(scenario, &checks),
        Err(error) => Row::new(scenario, Some(format!("invalid checks: {error}"))),
    }
}

fn row_from(scenario: &str, checks: &[Check]) -> Row {
    let count = |status| checks.iter().filter(|check| check.status == status).count();
    let failure = failure(scenario, checks);
    let never_executed =
        NEVER_EXECUTED.contains(&scenario) && count(Status::Skipped) == checks.len() && !checks.is_empty();
    let status = match &failure {
        None => CheckStatus::Passed,
        Some(_) if never_executed => CheckStatus::Untestable,
        Some(_) => CheckStatus::Failed,
    };
    Row {
        name: scenario.to_owned(),
        kind: None,
        passed: count(Status::Success),
        failed: count(Status::Failure),
        warned: count(Status::Warning),
        status,
        reason: failure,
    }
}

/// Whether the suite skipped it for a reason that does not depend on the client.
fn is_excused(scenario: &str, check: &Check) -> bool {
    check.status == Status::Skipped && PARTLY_SKIPPED.contains(&(scenario, check.id.as_str()))
}

/// Why a scenario failed.
fn failure(scenario: &str, checks: &[Check]) -> Option<String> {
    let bad = [(Status::Failure, "failed"), (Status::Warning, "warned"), (Status::Skipped, "skipped")];
    let problems: Vec<String> = bad
        .iter()
        .flat_map(|(status, word)| {
            let matching = checks.iter().filter(|check| check.status == *status && !is_excused(scenario, check));
            matching.map(move |check| {
                format!("{} {word}: {}", check.id, check.error_message.as_deref().unwrap_or("no reason"))
            })
        })
        .collect();
    if !problems.is_empty() {
        return Some(problems.join("; "));
    }
    let succeeded = |id: &str| checks.iter().any(|check| check.id == id && check.status == Status::Success);
    if !checks.iter().any(|check| check.id != SCHEMA_CHECK && check.status == Status::Success) {
        return Some("no check succeeded".to_owned());
    }
    let unseen = REQUIRED.iter().find(|(name, check)| *name == scenario && !succeeded(check));
    unseen.map(|(_, check)| format!("{check} did not succeed: the tested event did not occur"))
}

#[cfg(test)]
mod tests;
