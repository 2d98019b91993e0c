//! URI templates (RFC 6570).

use crate::{
    judge::{
        check::{Check, CheckOutcome, Findings, Rule, Scope},
        transcript::Transcript,
    },
    uri_template::template_fault,
};

pub(super) const CHECKS: &[Check] = &[Check {
    id: "resource-templates-are-valid",
    requirement: "resources/valid-templates",
    scope: Scope::Named,
    expected: "every uriTemplate is a URI template of RFC 6570",
    rule: Rule::Case(valid),
}];

fn valid(transcript: &Transcript<'_>) -> CheckOutcome {
    let templates = transcript.items("resources/templates/list", "resourceTemplates");
    let templates = templates.filter_map(|(frame, item)| Some((frame, item.get("uriTemplate")?.as_str()?)));
    let fault = |template: &&str| template_fault(template).map(|fault| format!("`{template}` {fault}"));
    Findings::from_each(templates, fault).or_not_applicable("templates", "the server lists no templates")
}
