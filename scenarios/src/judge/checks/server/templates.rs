//! URI templates (RFC 6570).

use std::collections::HashSet;

use serde_json::Value;

use crate::{
    judge::{
        check::{Check, CheckOutcome, Findings, Rule, Scope, brief},
        transcript::{RequestResponse, Transcript},
    },
    uri_template::template_fault,
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "resource-templates-are-valid",
        requirement: "resources/valid-templates",
        scope: Scope::Named,
        expected: "every uriTemplate is a URI template of RFC 6570",
        rule: Rule::Case(valid),
    },
    Check {
        id: "template-reads-have-contents",
        requirement: "resources/no-empty-template-contents",
        scope: Scope::Named,
        expected: "a read of a URI of a template is rejected, or has contents",
        rule: Rule::Case(contents),
    },
];

/// The workbench expands templates with invented values, so that few of the resources exist. One that exists can be empty, such as
/// the hits of a search.
fn contents(transcript: &Transcript<'_>) -> CheckOutcome {
    let listed: HashSet<&str> =
        transcript.items("resources/list", "resources").filter_map(|(_, item)| item.get("uri")?.as_str()).collect();
    let reads = transcript.requests_of("resources/read").filter(|read| {
        read.response.is_some() && read.param("uri").and_then(Value::as_str).is_some_and(|uri| !listed.contains(uri))
    });
    let fault = |read: &&RequestResponse<'_>| {
        let contents = read.result()?.get("contents")?.as_array()?;
        let uri = read.param("uri").map(brief).unwrap_or_default();
        contents.is_empty().then(|| format!("the contents of {uri} are empty"))
    };
    Findings::from_each(reads.map(|read| (read.last_frame(), read)), fault)
        .or_not_applicable("reads", "no URI of a template was read")
}

fn valid(transcript: &Transcript<'_>) -> CheckOutcome {
    let templates = transcript.items("resources/templates/list", "resourceTemplates");
    let templates = templates.filter_map(|(frame, item)| Some((frame, item.get("uriTemplate")?.as_str()?)));
    let fault = |template: &&str| template_fault(template).map(|fault| format!("`{template}` {fault}"));
    Findings::from_each(templates, fault).or_not_applicable("templates", "the server lists no templates")
}
