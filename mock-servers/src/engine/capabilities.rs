//! The capabilities that a script implies, where it does not spell them out.

use serde_json::{Map, Value, json};

use crate::script::{Action, Change, Script};

/// What the server declares.
pub(crate) fn declared(script: &Script) -> Map<String, Value> {
    script.capabilities.clone().unwrap_or_else(|| implied(script))
}

fn implied(script: &Script) -> Map<String, Value> {
    let mut capabilities = Map::new();
    let mut tools = Map::new();
    if announces(script, "notifications/tools/list_changed") || changes(script) {
        tools.insert("listChanged".into(), true.into());
    }
    capabilities.insert("tools".into(), Value::Object(tools));
    for area in ["resources", "prompts"] {
        let changed = announces(script, &format!("notifications/{area}/list_changed"));
        let updated = area == "resources" && announces(script, "notifications/resources/updated");
        if changed || updated || answers(script, &format!("{area}/")) {
            let mut members = Map::new();
            for (name, holds) in [("listChanged", changed), ("subscribe", updated)] {
                if holds {
                    members.insert(name.into(), true.into());
                }
            }
            capabilities.insert(area.into(), Value::Object(members));
        }
    }
    for (name, holds) in [
        ("completions", answers(script, "completion/")),
        ("logging", answers(script, "logging/") || announces(script, "notifications/message")),
    ] {
        if holds {
            capabilities.insert(name.into(), json!({}));
        }
    }
    capabilities
}

/// Whether a rule is for methods with this prefix.
fn answers(script: &Script, prefix: &str) -> bool {
    script.on.iter().any(|rule| rule.when.method.as_ref().is_some_and(|method| method.starts_with(prefix)))
}

/// Whether an action sends this notification.
fn announces(script: &Script, method: &str) -> bool {
    actions(script).any(|action| matches!(action, Action::Notify(notify) if notify.method == method))
}

/// Whether an action announces a change of the tools.
fn changes(script: &Script) -> bool {
    actions(script).any(|action| matches!(action, Action::Change(Change { announce: true, .. })))
}

fn actions(script: &Script) -> impl Iterator<Item = &Action> {
    script.on.iter().flat_map(|rule| &rule.actions)
}
