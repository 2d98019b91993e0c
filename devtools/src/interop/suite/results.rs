//! Judges what the official suite writes: a folder for each scenario, with a file `checks.json` in it.
//!
//! It is stricter than the suite's own summary. That one counts a scenario as passed if nothing failed, so one that
//! crashed before its first check, skipped what it was to check, or found nothing applicable is green. Here a scenario has to
//! show something: at least one check that succeeded, beside the suite's own validation of the messages, which also succeeds
//! where none came back.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use serde::Deserialize;
use serde_json::Value;

use super::{
    super::outcome::{Row, Verdict},
    requirements::Expected,
};

/// The check that the suite adds to every scenario with traffic: what came back is valid. Nothing coming back is.
const WIRE: &str = "wire-schema-valid";
/// What the suite announces and skips itself, whatever the server does.
const NEVER_TRIED: [&str; 1] = ["tasks-status-notifications"];
/// Checks of which the suite skips a part where the revision has not what they look at: it has no `initialize`.
const PARTLY_SKIPPED: [(&str, &str); 1] = [("http-standard-headers", "sep-2243-client-includes-standard-headers")];
/// Checks that have to succeed, because the suite only informs when what they look at never happened.
const REQUIRED: [(&str, &str); 2] =
    [("server-sse-polling", "server-sse-disconnect-resume"), ("server-initialize", "server-session-id-visible-ascii")];

/// How the suite names the folder of a scenario: a prefix, the scenario, the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Prefix {
    /// Scenarios for servers.
    Server,
    /// Scenarios for authorization servers.
    Authorization,
    /// Scenarios for clients, which have none.
    Client,
}

impl Prefix {
    fn text(self) -> &'static str {
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

/// Judges each scenario that was to run, from the folders that the suite has left.
///
/// # Errors
/// If the folder of results cannot be read.
pub(in super::super) fn judge_folder(
    folder: &Path,
    prefix: Prefix,
    expected: Vec<Expected>,
) -> anyhow::Result<Vec<Row>> {
    judge_each(folder, prefix, expected, judge)
}

/// The same of a server that has none of the tools that the suite asks test servers to have. What cannot be tested without one,
/// which the suite marks, and what it skips because nothing of the kind is declared, does not count.
///
/// # Errors
/// As [`judge_folder`].
pub(super) fn judge_without_fixtures(folder: &Path, expected: Vec<Expected>) -> anyhow::Result<Vec<Row>> {
    judge_each(folder, Prefix::Server, expected, |scenario, text| match serde_json::from_str::<Vec<Check>>(text) {
        Ok(checks) => verdict_on(scenario, &checks.into_iter().filter(is_for_any_server).collect::<Vec<_>>()),
        Err(_) => judge(scenario, text),
    })
}

fn is_for_any_server(check: &Check) -> bool {
    check.status != Status::Skipped && check.details["untestable"] != true
}

fn judge_each(
    folder: &Path,
    prefix: Prefix,
    expected: Vec<Expected>,
    judge: impl Fn(&str, &str) -> Row,
) -> anyhow::Result<Vec<Row>> {
    let mut found = HashMap::new();
    for (name, path) in folders(folder)? {
        if let Some(scenario) = scenario_of(&name, prefix) {
            found.insert(scenario.to_owned(), fs::read_to_string(path.join("checks.json")).ok());
        }
    }
    let judged = expected.into_iter().map(|Expected { scenario, kind }| {
        let row = match found.get(&scenario) {
            None => Row::of(&scenario, Some("the suite has not run it".to_owned())),
            Some(None) => Row::of(&scenario, Some("the scenario crashed: it has written no checks".to_owned())),
            Some(Some(text)) => judge(&scenario, text),
        };
        Row { kind: Some(kind), ..row }
    });
    Ok(judged.collect())
}

/// The folders below one, and those of a scenario like `auth/dpop` one level deeper, by their names.
fn folders(folder: &Path) -> anyhow::Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| "the suite has left no results")? {
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
fn scenario_of(folder: &str, prefix: Prefix) -> Option<&str> {
    const TIME: &str = "-2026-11-22T02-53-33-156Z";
    let rest = folder.strip_prefix(prefix.text())?;
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
        Ok(checks) => verdict_on(scenario, &checks),
        Err(error) => Row::of(scenario, Some(format!("its checks are not understood: {error}"))),
    }
}

fn verdict_on(scenario: &str, checks: &[Check]) -> Row {
    let count = |status| checks.iter().filter(|check| check.status == status).count();
    let objection = objection(scenario, checks);
    let never_tried = NEVER_TRIED.contains(&scenario) && count(Status::Skipped) == checks.len() && !checks.is_empty();
    let verdict = match &objection {
        None => Verdict::Passed,
        Some(_) if never_tried => Verdict::Untestable,
        Some(_) => Verdict::Failed,
    };
    Row {
        name: scenario.to_owned(),
        kind: None,
        passed: count(Status::Success),
        failed: count(Status::Failure),
        warned: count(Status::Warning),
        verdict,
        reason: objection,
    }
}

/// Whether the suite skipped it for a reason that is no client's.
fn is_excused(scenario: &str, check: &Check) -> bool {
    check.status == Status::Skipped && PARTLY_SKIPPED.contains(&(scenario, check.id.as_str()))
}

/// Why a scenario has not passed.
fn objection(scenario: &str, checks: &[Check]) -> Option<String> {
    let bad = [(Status::Failure, "failed"), (Status::Warning, "warned"), (Status::Skipped, "skipped")];
    let said: Vec<String> = bad
        .iter()
        .flat_map(|(status, word)| {
            let such = checks.iter().filter(|check| check.status == *status && !is_excused(scenario, check));
            such.map(move |check| {
                format!("{} {word}: {}", check.id, check.error_message.as_deref().unwrap_or("no reason"))
            })
        })
        .collect();
    if !said.is_empty() {
        return Some(said.join("; "));
    }
    let succeeded = |id: &str| checks.iter().any(|check| check.id == id && check.status == Status::Success);
    if !checks.iter().any(|check| check.id != WIRE && check.status == Status::Success) {
        return Some("it has shown nothing: no check succeeded".to_owned());
    }
    let unseen = REQUIRED.iter().find(|(name, check)| *name == scenario && !succeeded(check));
    unseen.map(|(_, check)| format!("{check} has not succeeded: what it looks at never happened"))
}

#[cfg(test)]
mod tests;
