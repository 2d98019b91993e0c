//! The script of a mock server, apart from its rules: what it offers.
//!
//! A mock may offer nonsense on purpose, so only that is refused which could not have been meant.

use std::borrow::Cow;

use diagnostics::document::TreeCursor;
use mock_servers::{profile, script::Script};

use super::{Case, Findings, faults, rules};
use crate::model::Revision;

pub(super) fn judge(case: &Case<'_>, script: &Script, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    for (position, name) in script.extends.iter().enumerate() {
        // A scenario stands for itself: it builds upon profiles alone, which are part of the program.
        if !profile::names().any(|known| known == name) {
            findings.unknown(spot.key("extends").item(position), "profile", name, profile::names());
        }
    }
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
    faults::persistent(case, script, spot, findings);
}

fn revisions(script: &Script, list: TreeCursor<'_>, findings: &mut Findings<'_>) {
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
pub(super) struct Offer {
    names: Vec<String>,
    generated: usize,
}

impl Offer {
    /// The tools that the script, with the profiles that it extends, ever offers. A script that lists none, or that
    /// answers `tools/list` by itself, may offer anything.
    pub(super) fn of(script: &Script) -> Option<Self> {
        use mock_servers::script::Action;

        let script = match script.extends.as_slice() {
            [] => Cow::Borrowed(script),
            // What is wrong with the profiles is told elsewhere.
            _ => Cow::Owned(profile::resolve(script.clone()).ok()?),
        };
        let answers_list = script.on.iter().any(|rule| {
            let listed = rule.when.method.as_deref().is_none_or(|method| method == "tools/list");
            let listed = listed && rule.when.tool.is_none() && rule.when.prompt.is_none() && rule.when.uri.is_none();
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
        let names = script.tools.iter().chain(put).map(|tool| tool.name.clone()).collect();
        Some(Self { names, generated })
    }

    /// Complains about a tool that is never offered.
    pub(super) fn judge(&self, tool: &str, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
        if self.names.iter().any(|name| name == tool) || self.is_generated(tool) {
            return;
        }
        let first = (self.generated > 0).then_some("tool-00000");
        findings.unknown(spot, "tool", tool, self.names.iter().map(String::as_str).chain(first));
    }

    fn is_generated(&self, tool: &str) -> bool {
        let number = tool.strip_prefix("tool-").filter(|digits| digits.len() >= 5);
        number.and_then(|digits| digits.parse::<usize>().ok()).is_some_and(|number| number < self.generated)
    }
}
