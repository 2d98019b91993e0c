//! The script of a mock server, apart from its rules: what it offers.
//!
//! A mock may offer nonsense on purpose, so only that is refused which could not have been meant.

use mock_servers::script::Script;

use super::{super::tree::Spot, Case, Findings, faults, rules};
use crate::model::Revision;

pub(super) fn judge(case: &Case<'_>, script: &Script, spot: Spot<'_>, findings: &mut Findings<'_>) {
    revisions(script, spot.key("revisions"), findings);
    if script.page_size == Some(0) {
        findings.value(spot.key("page_size"), "pages without items", "write at least 1, or take it away");
    }
    let generate = script.generate.unwrap_or_default();
    for (key, number) in [
        ("tools", generate.tools),
        ("resources", generate.resources),
        ("resource_templates", generate.resource_templates),
        ("prompts", generate.prompts),
    ] {
        if number == 0 && spot.key("generate").has(key) {
            let message = format!("no {} to make up", key.replace('_', " "));
            findings.value(spot.key("generate").key(key), message, "write at least 1, or take it away");
        }
    }
    if script.process.command.as_ref().is_some_and(Vec::is_empty) {
        findings.key(spot.key("process").key("command"), "an empty command", "name the program to launch");
    }
    for (position, tool) in script.tools.iter().enumerate() {
        if let Some(reply) = &tool.reply {
            rules::reply(reply, spot.key("tools").item(position).key("reply"), findings);
        }
    }
    rules::judge(case, script, spot, findings);
    faults::standing(case, script, spot, findings);
}

fn revisions(script: &Script, list: Spot<'_>, findings: &mut Findings<'_>) {
    let Some(revisions) = &script.revisions else { return };
    findings.no_doubles(list, revisions);
    if revisions.is_empty() {
        findings.key(list, "a server without a revision", "name one, or take the key away");
    }
    for (position, revision) in revisions.iter().enumerate() {
        if revision.parse::<Revision>().is_err() {
            findings.unknown(list.item(position), "revision", revision, Revision::ALL.map(Revision::as_str));
        }
    }
}

/// What a load, a step or a rule may name as a tool; `None` if that cannot be told from the script.
pub(super) struct Offer<'a> {
    names: Vec<&'a str>,
    generated: usize,
}

impl<'a> Offer<'a> {
    /// The tools that the script ever offers. A script that lists none, or that answers `tools/list` by itself, may offer
    /// anything.
    pub(super) fn of(script: &'a Script) -> Option<Self> {
        use mock_servers::script::Action;

        let answers_list = script.on.iter().any(|rule| {
            let listed = rule.when.method.as_deref().is_none_or(|method| method == "tools/list");
            listed && rule.actions.iter().any(|action| matches!(action, Action::Reply(_)))
        });
        let generated = script.generate.map_or(0, |generate| generate.tools);
        if answers_list || (script.tools.is_empty() && generated == 0) {
            return None;
        }
        let changes = script.on.iter().flat_map(|rule| &rule.actions);
        let put = changes.flat_map(|action| match action {
            Action::Change(change) => change.put.as_slice(),
            _ => &[],
        });
        let names = script.tools.iter().chain(put).map(|tool| tool.name.as_str()).collect();
        Some(Self { names, generated })
    }

    /// Complains about a tool that is never offered.
    pub(super) fn judge(&self, tool: &str, spot: Spot<'_>, findings: &mut Findings<'_>) {
        if self.names.contains(&tool) || self.is_generated(tool) {
            return;
        }
        let first = (self.generated > 0).then_some("tool-00000");
        findings.unknown(spot, "tool", tool, self.names.iter().copied().chain(first));
    }

    fn is_generated(&self, tool: &str) -> bool {
        let number = tool.strip_prefix("tool-").filter(|digits| digits.len() >= 5);
        number.and_then(|digits| digits.parse::<usize>().ok()).is_some_and(|number| number < self.generated)
    }
}
