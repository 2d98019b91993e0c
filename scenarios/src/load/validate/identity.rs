//! Id, title, tags, requirement and checks.

use super::{Case, Findings, is_kebab};
use crate::{
    contract::CONTEXT_KEYS,
    model::{Expectations, SessionUse, Subject},
};

pub(super) fn check(case: &Case<'_>, findings: &mut Findings<'_>) {
    let scenario = case.scenario;
    if !is_id(&scenario.scenario) {
        findings.value(
            case.root.key("scenario"),
            format!("`{}` is not an id", scenario.scenario),
            "write `<area>/<name>`, both in lower case with hyphens",
        );
    }
    if scenario.title.trim().is_empty() {
        findings.value(case.root.key("title"), "an empty title", "describe the tested behavior in one sentence");
    }
    let tags = case.root.key("tags");
    findings.no_doubles(tags, &scenario.tags);
    for (position, tag) in scenario.tags.iter().enumerate().filter(|(_, tag)| !is_kebab(tag)) {
        findings.value(tags.item(position), format!("`{tag}` is not a tag"), "write it in lower case with hyphens");
    }
    official(case, findings);
    requirement(case, findings);
    checks(case, findings);
    expects_something(case, findings);
}

/// Whether it has the form `<area>/<name>`.
fn is_id(id: &str) -> bool {
    id.split_once('/').is_some_and(|(area, name)| is_kebab(area) && is_kebab(name))
}

/// Checks the equivalent scenario of the official suite.
fn official(case: &Case<'_>, findings: &mut Findings<'_>) {
    let Some(official) = &case.scenario.official else { return };
    let spot = case.root.key("official");
    if case.scenario.subject == Subject::Server {
        findings.key(spot, "`official` in a scenario for servers", "only scenarios for clients have it; remove it");
    }
    let is_name = |ch: char| ch.is_ascii_alphanumeric() || matches!(ch, '-' | '_' | '/');
    if official.name.is_empty() || !official.name.chars().all(is_name) {
        let message = format!("`{}` is not a name of the official suite", official.name);
        findings.value(spot.key("name"), message, "copy the name from the list of the suite");
    }
    for key in official.context.keys().filter(|key| CONTEXT_KEYS.contains(&key.as_str())) {
        let message = format!("the context of every client has a key `{key}`");
        findings.key(spot.key("context").key(key), message, "remove it");
    }
}

fn requirement(case: &Case<'_>, findings: &mut Findings<'_>) {
    let Some(id) = &case.scenario.requirement else { return };
    if !case.vocabulary.requirements.contains(id) {
        let known = case.vocabulary.requirements.iter().map(String::as_str);
        findings.unknown(case.root.key("requirement"), "requirement", id, known);
    }
}

fn checks(case: &Case<'_>, findings: &mut Findings<'_>) {
    let list = case.root.key("checks");
    findings.no_doubles(list, &case.scenario.checks);
    for (position, id) in case.scenario.checks.iter().enumerate() {
        match case.vocabulary.checks.get(id) {
            None => {
                let fitting = case.vocabulary.checks.iter().filter(|(_, subject)| **subject == case.scenario.subject);
                findings.unknown(list.item(position), "check", id, fitting.map(|(id, _)| id.as_str()));
            }
            Some(subject) if *subject != case.scenario.subject => {
                let (judged, other) = match subject {
                    Subject::Client => ("clients", "server"),
                    Subject::Server => ("servers", "client"),
                };
                let message = format!("the check `{id}` is for {judged}");
                findings.value(list.item(position), message, format!("the subject is a {other}; remove it"));
            }
            Some(_) => {}
        }
    }
}

/// Rejects a scenario that cannot fail.
fn expects_something(case: &Case<'_>, findings: &mut Findings<'_>) {
    let scenario = case.scenario;
    let nothing = scenario.steps.is_empty()
        && scenario.checks.is_empty()
        && scenario.load.is_none()
        && scenario.expect == Expectations::default()
        && scenario.session != SessionUse::Whole;
    if nothing {
        findings.key(case.root.key("scenario"), "no expectations", "add `steps`, `expect`, `checks` or a `load`");
    }
}
