//! Id, title, tags, requirement and checks.

use super::{Case, Findings, is_kebab};
use crate::model::{Expectations, SessionUse, Subject};

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
    requirement(case, findings);
    checks(case, findings);
    expects_something(case, findings);
}

/// Whether it has the form `<area>/<name>`.
fn is_id(id: &str) -> bool {
    id.split_once('/').is_some_and(|(area, name)| is_kebab(area) && is_kebab(name))
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
