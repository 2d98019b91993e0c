//! The conditions of rules and persistent faults: `when`.

use diagnostics::document::TreeCursor;
use mock_servers::script::When;

use super::{Case, Findings, names::known_method};
use crate::model::Transport;

pub(super) fn check(case: &Case<'_>, when: &When, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    let counters = [("nth", when.nth), ("from_nth", when.from_nth), ("session", when.session), ("run", when.run)];
    for (key, number) in counters {
        if number == Some(0) {
            findings.value(spot.key(key), format!("`{key}: 0` never matches"), "count from 1");
        }
    }
    if when.nth.is_some() && when.from_nth.is_some() {
        findings.key(spot.key("from_nth"), "`nth` and `from_nth` in one rule", "remove one");
    }
    if when.run.is_some() && !case.runs_over(Transport::Stdio) {
        findings.key(
            spot.key("run"),
            "`run` without the transport `stdio`",
            "add `stdio` to the transports, or remove it",
        );
    }
    let Some(method) = &when.method else { return };
    known_method(method, spot.key("method"), findings);
    for key in ["tool", "prompt", "uri", "arguments"] {
        let methods = methods_with(key);
        if spot.has(key) && !methods.contains(&method.as_str()) {
            let advice = format!("remove it; only `{}` has it", methods.join("`, `"));
            findings.key(spot.key(key), format!("`{key}` of `{method}`"), advice);
        }
    }
    if when.cursor.is_some() && !method.ends_with("/list") {
        findings.key(spot.key("cursor"), format!("`cursor` of `{method}`"), "remove it; only lists have cursors");
    }
}

/// The methods with a parameter.
fn methods_with(key: &str) -> &'static [&'static str] {
    match key {
        "tool" => &["tools/call"],
        "prompt" => &["prompts/get"],
        "uri" => &["resources/read", "resources/subscribe", "resources/unsubscribe"],
        _ => &["tools/call", "prompts/get"],
    }
}
