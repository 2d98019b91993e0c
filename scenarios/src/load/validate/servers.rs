//! Mock servers, and the configuration of the client.

use agent::permissions::{RuleErrors, Rules};
use diagnostics::{document::TreeCursor, nearest};

use super::{
    super::vocabulary::CAPABILITIES,
    Case, Findings,
    names::{header_names, known_server},
};
use crate::model::{AgentSetup, ServerEntry, Subject, UserSetup};

/// Maximum length of a server name in characters. Otherwise all names are valid, so that clients can be tested with them.
const MAX_NAME: usize = 100;

pub(super) fn check(case: &Case<'_>, findings: &mut Findings<'_>) {
    match case.scenario.subject {
        Subject::Client => check_client_scenario(case, findings),
        Subject::Server => check_server_scenario(case, findings),
    }
    client_setup(case, findings);
}

fn check_client_scenario(case: &Case<'_>, findings: &mut Findings<'_>) {
    let (scenario, root) = (case.scenario, case.root);
    // With an authorization server, `server` is the protected one.
    if scenario.server.is_some() && !scenario.servers.is_empty() && scenario.authorization.is_none() {
        findings.key(root.key("servers"), "both `server` and `servers`", "move `server` into `servers` with a name");
    }
    if scenario.server.is_none() && scenario.servers.is_empty() && scenario.load.is_none() {
        findings.key(root.key("subject"), "no server for the client", "add `server:`; `{}` is a conforming one");
    }
    for name in scenario.servers.keys() {
        if name.trim().is_empty() || name.chars().count() > MAX_NAME {
            let message = format!("`{name}` is not a valid server name");
            findings.key(root.key("servers").key(name), message, format!("write 1 to {MAX_NAME} characters"));
        }
    }
    for key in ["session", "once", "without_handshake", "continues", "capabilities"] {
        if root.has(key) {
            findings.key(root.key(key), format!("`{key}` in a scenario for clients"), "remove it");
        }
    }
    if root.has("needs") {
        findings.key(
            root.key("needs"),
            "`needs` in a scenario for clients",
            "remove it; only servers under test declare capabilities",
        );
    }
}

fn check_server_scenario(case: &Case<'_>, findings: &mut Findings<'_>) {
    for key in ["server", "servers", "client"] {
        if case.root.has(key) {
            findings.key(
                case.root.key(key),
                format!("`{key}` in a scenario for servers"),
                "the command line names the server; remove it, or set `subject: client`",
            );
        }
    }
    let Some(needs) = &case.scenario.needs else { return };
    let first = needs.split('.').next().unwrap_or_default();
    let spot = case.root.key("needs");
    if !CAPABILITIES.contains(&first) {
        let advice = match nearest::nearest(first, CAPABILITIES.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}{}`?", &needs[first.len()..]),
            None => nearest::advice(first, CAPABILITIES.iter().copied()),
        };
        findings.value(spot, format!("unknown capability `{needs}`"), advice);
    } else if needs.split('.').any(str::is_empty) {
        findings.value(spot, format!("`{needs}` is not a capability"), "write it as in `resources.subscribe`");
    }
}

fn client_setup(case: &Case<'_>, findings: &mut Findings<'_>) {
    let (client, spot) = (&case.scenario.client, case.root.key("client"));
    for (key, period) in [
        ("startup_timeout", client.startup_timeout),
        ("call_timeout", client.call_timeout),
        ("call_ceiling", client.call_ceiling),
    ] {
        findings.not_zero(spot.key(key), period);
    }
    let numbers =
        [("max_pages", client.max_pages), ("max_items", client.max_items), ("max_message", client.max_message)];
    for (key, number) in numbers {
        if number == Some(0) {
            findings.value(spot.key(key), "limit is zero", "write at least 1");
        }
    }
    header_names(client.headers.keys(), spot.key("headers"), findings);
    if client.user.as_ref().is_some_and(|user| *user == UserSetup::default()) {
        findings.key(spot.key("user"), "a user without responses", "add a response, or remove it");
    }
    if let Some(limit) = client.name_limit.filter(|limit| ![64, 128].contains(limit)) {
        findings.value(spot.key("name_limit"), format!("unknown name limit {limit}"), "write 64 or 128");
    }
    if let Some(agent) = &client.agent {
        agent_setup(case, agent, spot.key("agent"), findings);
    }
}

fn agent_setup(case: &Case<'_>, agent: &AgentSetup, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    for error in Rules::global(&agent.permissions.texts()).err().into_iter().flat_map(|RuleErrors(errors)| errors) {
        let rule = spot.key("permissions").key(&error.list.to_string()).item(error.index);
        findings.value(rule, "invalid rule", error.problem.to_string());
    }
    if agent.output_tokens == Some(0) {
        findings.value(spot.key("output_tokens"), "limit is zero", "write at least 1");
    }
    for (name, entry) in &agent.servers {
        let entry_spot = spot.key("servers").key(name);
        known_server(case, name, entry_spot, findings);
        if *entry == ServerEntry::default() {
            findings.key(entry_spot, "an entry without settings", "add a setting, or remove it");
        }
        header_names(entry.headers.keys(), entry_spot.key("headers"), findings);
    }
    let Some(policy) = &agent.policy else { return };
    for (key, servers) in [("allow", policy.allow.as_deref().unwrap_or_default()), ("deny", &policy.deny)] {
        for (index, server) in servers.iter().enumerate() {
            known_server(case, server, spot.key("policy").key(key).item(index), findings);
        }
    }
}
