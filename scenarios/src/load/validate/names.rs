//! Names in a scenario: methods, servers, tools and headers.

use std::borrow::Cow;

use diagnostics::{document::TreeCursor, nearest};
use mock_servers::{
    profile,
    script::{Action, Script},
};

use super::{super::vocabulary::METHODS, Case, Findings};
use crate::model::MOCK_SERVER;

/// Rejects misspelled methods: an expectation of 0 frames would otherwise always pass. Other unknown methods are valid.
pub(super) fn known_method(method: &str, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    if METHODS.contains(&method) || matches!(method, "GET" | "DELETE") {
        return;
    }
    if let Some(meant) = nearest::nearest(method, METHODS.iter().copied()) {
        findings.value(spot, format!("unknown method `{method}`"), format!("did you mean `{meant}`?"));
    }
}

/// Rejects unknown servers.
pub(super) fn known_server(case: &Case<'_>, server: &str, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    let scenario = case.scenario;
    let one = scenario.server.as_ref().map(|_| MOCK_SERVER);
    // A load without a mock server runs against the server of the command line, and a server under test has no name.
    let named_elsewhere = one.is_none() && scenario.servers.is_empty();
    if !named_elsewhere && one != Some(server) && !scenario.servers.contains_key(server) {
        findings.unknown(spot, "server", server, one.into_iter().chain(scenario.servers.keys().map(String::as_str)));
    }
}

/// Header names are tokens (RFC 9110, 5.6.2).
pub(super) fn header_names<'a>(
    names: impl Iterator<Item = &'a String>,
    headers: TreeCursor<'_>,
    findings: &mut Findings<'_>,
) {
    let token = |ch: char| ch.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(ch);
    for name in names {
        if name.is_empty() || !name.chars().all(token) {
            let message = format!("`{name}` is not a valid header name");
            findings.key(headers.key(name), message, "use letters, digits and hyphens, as in `mcp-session-id`");
        }
    }
}

/// The tools that a mock server can offer.
pub(super) struct OfferedTools {
    names: Vec<String>,
    generated: usize,
}

impl OfferedTools {
    /// The tools of the script and its profiles, including later changes. `None` if they are unknown: the script has none,
    /// or its own response to `tools/list`.
    pub(super) fn from_script(script: &Script) -> Option<Self> {
        let script = match script.extends.as_slice() {
            [] => Cow::Borrowed(script),
            // Unknown profiles are reported elsewhere.
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

    /// Rejects a tool that is never offered.
    pub(super) fn check(&self, tool: &str, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
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
