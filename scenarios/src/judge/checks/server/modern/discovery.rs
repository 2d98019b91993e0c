//! `server/discover`.

use serde_json::Value;

use super::{is_modern, version_of};
use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope},
    transcript::Transcript,
};

pub(in super::super) const CHECKS: &[Check] = &[
    Check {
        id: "discover-result",
        requirement: "discover/result",
        scope: Scope::Named,
        expected: "the response to discovery is a result, and supportedVersions has the revision",
        rule: Rule::Case(discover),
    },
    Check {
        id: "discovery-is-repeatable",
        requirement: "discover/repeatable",
        scope: Scope::Named,
        expected: "discovery returns the same revisions and capabilities again",
        rule: Rule::Case(repeatable),
    },
];

fn discover(transcript: &Transcript<'_>) -> CheckOutcome {
    let Some(request) = transcript.requests_of("server/discover").find(|request| is_modern(request)) else {
        return CheckOutcome::not_applicable("no discovery was requested");
    };
    let Some(result) = request.result() else {
        return CheckOutcome::failed("the response has no result", request.frames());
    };
    // The members are compared by the shape of the result.
    let mut findings = Findings::default();
    let versions = result.get("supportedVersions").and_then(Value::as_array);
    let lacks = versions.is_some_and(|versions| !versions.iter().any(|version| Some(version) == version_of(request)));
    let fault = if lacks { Err("supportedVersions lacks the revision of the response".to_owned()) } else { Ok(()) };
    findings.check(request.last_frame(), fault);
    findings.or_not_applicable("results", "no discovery was requested")
}

fn repeatable(transcript: &Transcript<'_>) -> CheckOutcome {
    let results = transcript.requests_of("server/discover").filter(|one| is_modern(one));
    let mut results = results.filter_map(|one| Some((one.last_frame(), one.result()?)));
    let Some((_, first)) = results.next() else { return CheckOutcome::not_applicable("no discovery was answered") };
    let fault = |result: &&Value| {
        let changed = ["supportedVersions", "capabilities"].into_iter().find(|key| result.get(key) != first.get(key));
        changed.map(|key| format!("{key} changed"))
    };
    Findings::from_each(results, fault).or_not_applicable("results", "discovery was not repeated")
}
