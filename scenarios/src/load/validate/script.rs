//! The script of a mock server, without its rules. Invalid definitions may be intended, so only obvious mistakes are
//! rejected.

use diagnostics::document::TreeCursor;
use mock_servers::{profile, script::Script};

use super::{Case, Findings, faults, rules};
use crate::model::Revision;

pub(super) fn check(case: &Case<'_>, script: &Script, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    for (position, name) in script.extends.iter().enumerate() {
        // A scenario is self-contained: it extends only built-in profiles, not files.
        if !profile::names().any(|known| known == name) {
            findings.unknown(spot.key("extends").item(position), "profile", name, profile::names());
        }
    }
    revisions(script, spot.key("revisions"), findings);
    if script.page_size == Some(0) {
        findings.value(spot.key("page_size"), "page size is zero", "write at least 1, or remove it");
    }
    let generate = script.generate.unwrap_or_default();
    for (key, number) in [
        ("tools", generate.tools),
        ("resources", generate.resources),
        ("resource_templates", generate.resource_templates),
        ("prompts", generate.prompts),
    ] {
        if number == 0 && spot.key("generate").has(key) {
            let message = format!("number of generated {} is zero", key.replace('_', " "));
            findings.value(spot.key("generate").key(key), message, "write at least 1, or remove it");
        }
    }
    if script.process.command.as_ref().is_some_and(Vec::is_empty) {
        findings.key(spot.key("process").key("command"), "an empty command", "add the program to launch");
    }
    for (position, tool) in script.tools.iter().enumerate() {
        if let Some(reply) = &tool.reply {
            rules::reply(reply, spot.key("tools").item(position).key("reply"), findings);
        }
    }
    rules::check(case, script, spot, findings);
    faults::persistent(case, script, spot, findings);
}

fn revisions(script: &Script, list: TreeCursor<'_>, findings: &mut Findings<'_>) {
    let Some(revisions) = &script.revisions else { return };
    findings.no_doubles(list, revisions);
    if revisions.is_empty() {
        findings.key(list, "no revision", "add one, or remove the key");
    }
    for (position, revision) in revisions.iter().enumerate() {
        if revision.parse::<Revision>().is_err() {
            findings.unknown(list.item(position), "revision", revision, Revision::ALL.map(Revision::as_str));
        }
    }
}
