//! Over what a scenario is run: revisions, transports, and the time it may take.

use super::{Case, Findings};
use crate::{
    model::{ServerStep, Transport},
    plan::{revisions_of, transports_of},
};

pub(super) fn judge(case: &Case<'_>, findings: &mut Findings<'_>) {
    let scenario = case.scenario;
    let (revisions, transports) = (case.root.key("revisions"), case.root.key("transports"));
    findings.no_doubles(revisions, scenario.revisions.as_deref().unwrap_or_default());
    findings.no_doubles(transports, scenario.transports.as_deref().unwrap_or_default());
    findings.not_zero(case.root.key("limit"), scenario.limit);
    let mut empty = false;
    if scenario.revisions.as_ref().is_some_and(Vec::is_empty) {
        findings.key(revisions, "no revision, so no case", "name one, or take the key away");
        empty = true;
    }
    if scenario.transports.as_ref().is_some_and(Vec::is_empty) {
        findings.key(transports, "no transport, so no case", "name one, or take the key away");
        empty = true;
    }
    if !empty {
        unused_axes(case, findings);
        without_effect(case, findings);
    }
}

/// A transport that carries none of the revisions, or the other way round, is a case that the author thinks is run.
fn unused_axes(case: &Case<'_>, findings: &mut Findings<'_>) {
    let (revisions, transports) = (revisions_of(case.scenario), transports_of(case.scenario));
    for (position, transport) in case.scenario.transports.iter().flatten().enumerate() {
        if !revisions.iter().any(|revision| transport.carries(*revision)) {
            let told = case.scenario.revisions.as_ref().map_or("the default revisions", |_| "these revisions");
            findings.value(
                case.root.key("transports").item(position),
                format!("no case: `{transport}` carries none of {told}"),
                "take it away, or add a revision that it carries",
            );
        }
    }
    // Where no transport fits any revision, all of that was said.
    let none = transports.iter().all(|transport| !revisions.iter().any(|revision| transport.carries(*revision)));
    for (position, revision) in case.scenario.revisions.iter().flatten().enumerate().filter(|_| !none) {
        if !transports.iter().any(|transport| transport.carries(*revision)) {
            findings.value(
                case.root.key("revisions").item(position),
                format!("no case: {revision} cannot be spoken over any of these transports"),
                "take it away, or add a transport that carries it",
            );
        }
    }
}

/// Parts that have a meaning over one transport only, in a scenario that is never run over it.
fn without_effect(case: &Case<'_>, findings: &mut Findings<'_>) {
    if !case.runs_over(Transport::Stdio) {
        let advice = "add `stdio` to the transports, or take it away";
        for (_, _, spot) in case.scripts() {
            if spot.has("process") {
                findings.key(spot.key("process"), "a process without the transport `stdio`", advice);
            }
        }
    }
    if !case.runs_over(Transport::StreamableHttp) {
        for (position, step) in case.scenario.steps.server().iter().enumerate() {
            if matches!(step, ServerStep::Http(_)) {
                let spot = case.root.key("steps").item(position).key("http");
                let advice = "add `streamable-http` to the transports, or take it away";
                findings.key(spot, "an HTTP exchange without the transport `streamable-http`", advice);
            }
        }
    }
}
