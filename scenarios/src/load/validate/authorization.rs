//! The authorization server of a scenario.

use super::{Case, Findings};
use crate::{
    model::{Subject, Transport},
    plan::{revisions_of, transports_of},
};

pub(super) fn check(case: &Case<'_>, findings: &mut Findings<'_>) {
    let (scenario, spot) = (case.scenario, case.root.key("authorization"));
    let Some(authorization) = &scenario.authorization else {
        if scenario.client.authorization.is_some() {
            let at = case.root.key("client").key("authorization");
            findings.key(at, "tokens without an authorization server", "add `authorization:`, or remove it");
        }
        return;
    };
    if scenario.subject == Subject::Server {
        findings.key(spot, "`authorization` in a scenario for servers", "remove it, or set `subject: client`");
        return;
    }
    if scenario.server.is_none() || scenario.load.is_some() {
        findings.key(spot, "`authorization` protects the key `server`, which is missing", "add `server:`");
    }
    if transports_of(scenario) != [Transport::StreamableHttp] {
        let advice = "write `transports: [streamable-http]`";
        findings.key(spot, "authorization over other transports than `streamable-http`", advice);
    }
    if authorization.same_origin && revisions_of(scenario).iter().any(|revision| revision.as_str() > "2025-03-26") {
        let advice = "write `revisions: [\"2025-03-26\"]`, or remove it";
        findings.key(spot.key("same_origin"), "only servers of 2025-03-26 are authorization servers too", advice);
    }
}
