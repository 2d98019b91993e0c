//! Revisions, transports and timeout of a scenario.

use super::{Case, Findings};
use crate::{
    model::{ServerStep, Transport},
    plan::{revisions_of, transports_of},
};

pub(super) fn check(case: &Case<'_>, findings: &mut Findings<'_>) {
    let scenario = case.scenario;
    let (revisions, transports) = (case.root.key("revisions"), case.root.key("transports"));
    findings.no_doubles(revisions, scenario.revisions.as_deref().unwrap_or_default());
    findings.no_doubles(transports, scenario.transports.as_deref().unwrap_or_default());
    findings.not_zero(case.root.key("limit"), scenario.limit);
    let mut empty = false;
    if scenario.revisions.as_ref().is_some_and(Vec::is_empty) {
        findings.key(revisions, "no revision, so no case", "add one, or remove the key");
        empty = true;
    }
    if scenario.transports.as_ref().is_some_and(Vec::is_empty) {
        findings.key(transports, "no transport, so no case", "add one, or remove the key");
        empty = true;
    }
    if !empty {
        unused_axes(case, findings);
        without_effect(case, findings);
    }
}

/// Rejects transports without a revision and revisions without a transport: they have no cases.
fn unused_axes(case: &Case<'_>, findings: &mut Findings<'_>) {
    let (revisions, transports) = (revisions_of(case.scenario), transports_of(case.scenario));
    for (position, transport) in case.scenario.transports.iter().flatten().enumerate() {
        if !revisions.iter().any(|revision| transport.carries(*revision)) {
            let revisions_text =
                case.scenario.revisions.as_ref().map_or("the default revisions", |_| "these revisions");
            findings.value(
                case.root.key("transports").item(position),
                format!("no case: `{transport}` carries none of {revisions_text}"),
                "remove it, or add a revision that it carries",
            );
        }
    }
    // If no transport has a revision, the transports were reported.
    let none = transports.iter().all(|transport| !revisions.iter().any(|revision| transport.carries(*revision)));
    for (position, revision) in case.scenario.revisions.iter().flatten().enumerate().filter(|_| !none) {
        if !transports.iter().any(|transport| transport.carries(*revision)) {
            findings.value(
                case.root.key("revisions").item(position),
                format!("no case: none of these transports carries {revision}"),
                "remove it, or add a transport that carries it",
            );
        }
    }
}

/// Rejects keys that need a transport that the scenario does not run over.
fn without_effect(case: &Case<'_>, findings: &mut Findings<'_>) {
    if !case.runs_over(Transport::Stdio) {
        let advice = "add `stdio` to the transports, or remove it";
        for (_, _, spot) in case.scripts() {
            if spot.has("process") {
                findings.key(spot.key("process"), "a process without the transport `stdio`", advice);
            }
        }
    }
    if !case.runs_over(Transport::StreamableHttp) {
        for (position, step) in case.scenario.steps.server().iter().enumerate() {
            let needs_http = matches!(
                step,
                ServerStep::Http(_) | ServerStep::Listen(_) | ServerStep::Sessions(_) | ServerStep::Unauthorized(_)
            );
            if needs_http {
                let spot = case.root.key("steps").item(position).key(step.kind());
                let advice = "add `streamable-http` to the transports, or remove it";
                findings.key(spot, "an HTTP exchange without the transport `streamable-http`", advice);
            }
        }
    }
}
