//! Rules of a mock server: rules that never match, contradict themselves or have no effect.

use diagnostics::{document::TreeCursor, nearest};
use mock_servers::{
    faults::Fault,
    script::{Action, Change, Reply, Rule, Script, When},
};
use serde_json::Value;

use super::{
    Case, Findings, conditions, faults,
    names::{OfferedTools, known_method},
};

/// First parts of placeholders in replies.
const PLACEHOLDERS: [&str; 9] =
    ["arguments", "host", "id", "method", "nth", "params", "response", "responses", "variables"];

pub(super) fn check(case: &Case<'_>, script: &Script, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    let offer = OfferedTools::from_script(script);
    for (position, rule) in script.on.iter().enumerate() {
        let item = spot.key("on").item(position);
        conditions::check(case, &rule.when, item.key("when"), findings);
        if let (Some(tool), Some(offer)) = (&rule.when.tool, &offer) {
            offer.check(tool, item.key("when").key("tool"), findings);
        }
        if let Some(first) = script.on[..position].iter().position(|earlier| shadows(&earlier.when, &rule.when)) {
            let line = spot.key("on").item(first).key("when").key_location().line;
            let message = format!("the rule on line {line} matches every message that this rule matches");
            findings.key(item.key("when"), message, "move this rule before it, or restrict the other");
        }
        actions(script, rule, item.key("do"), findings);
    }
}

/// Whether the earlier rule matches every message that the later rule matches.
fn shadows(earlier: &When, later: &When) -> bool {
    fn wider<T: PartialEq>(earlier: Option<&T>, later: Option<&T>) -> bool {
        earlier.is_none_or(|earlier| later == Some(earlier))
    }
    let arguments = earlier.arguments.as_ref().is_none_or(|wanted| {
        later.arguments.as_ref().is_some_and(|given| wanted.iter().all(|(name, value)| given.get(name) == Some(value)))
    });
    earlier.nth.is_none()
        && earlier.from_nth.is_none_or(|nth| nth == 1)
        && arguments
        && wider(earlier.method.as_ref(), later.method.as_ref())
        && wider(earlier.tool.as_ref(), later.tool.as_ref())
        && wider(earlier.prompt.as_ref(), later.prompt.as_ref())
        && wider(earlier.uri.as_ref(), later.uri.as_ref())
        && wider(earlier.revisions.as_ref(), later.revisions.as_ref())
        && wider(earlier.cursor.as_ref(), later.cursor.as_ref())
        && wider(earlier.session.as_ref(), later.session.as_ref())
        && wider(earlier.run.as_ref(), later.run.as_ref())
}

fn actions(script: &Script, rule: &Rule, list: TreeCursor<'_>, findings: &mut Findings<'_>) {
    if rule.actions.is_empty() {
        findings.key(list, "no actions", "write `do: default` for the default response");
    }
    let mut ended = false;
    for (position, action) in rule.actions.iter().enumerate() {
        let item = list.item(position);
        if ended {
            findings.value(item, "an action after the exit of the process", "remove it");
            break;
        }
        ended = matches!(action, Action::Fault(Fault::Exit(_)));
        check_action(script, action, item, findings);
    }
}

fn check_action(script: &Script, action: &Action, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    match action {
        Action::Reply(given) => reply(given, spot.key("reply"), findings),
        Action::Error(error) => placeholders_in(&error.message, spot.key("error").key("message"), findings),
        Action::Notify(notify) => known_method(&notify.method, spot.key("notify").key("method"), findings),
        Action::Request(request) => {
            let spot = spot.key("request");
            known_method(&request.method, spot.key("method"), findings);
            for (position, action) in request.otherwise.iter().enumerate() {
                check_action(script, action, spot.key("otherwise").item(position), findings);
            }
        }
        Action::Log(log) => placeholders(&log.data, spot.key("log").key("data"), findings),
        Action::Update(update) => placeholders_in(&update.uri, spot.key("update").key("uri"), findings),
        Action::Progress(progress) => {
            if progress.times == Some(0) {
                findings.value(spot.key("progress").key("times"), "count is zero", "write at least 1");
            }
        }
        Action::Change(given) => change(script, given, spot.key("change"), findings),
        Action::Fault(given) => faults::check(given, spot.key("fault"), findings),
        Action::Switch(switch) => faults::switch(script, switch, spot.key("switch"), findings),
        Action::Ask(ask) => {
            for (key, request) in &ask.requests {
                known_method(&request.method, spot.key("ask").key("requests").key(key).key("method"), findings);
            }
        }
        Action::Batch(batch) => {
            for (position, notify) in batch.notify.iter().enumerate() {
                known_method(&notify.method, spot.key("batch").key("notify").item(position).key("method"), findings);
            }
        }
        Action::TaskStatus(words) => placeholders_in(words, spot.key("task-status"), findings),
        Action::Default | Action::Respond(_) | Action::CloseStream(_) | Action::Require(_) | Action::Task(_) => {}
    }
}

fn change(script: &Script, change: &Change, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    if *change == Change::default() {
        findings.key(spot, "change is empty", "add `put`, `remove` or `announce: true`");
    }
    if let Some(offer) = OfferedTools::from_script(script) {
        for (position, tool) in change.remove.iter().enumerate() {
            offer.check(tool, spot.key("remove").item(position), findings);
        }
    }
}

/// Checks the reply of a rule or a tool.
pub(super) fn reply(reply: &Reply, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    if reply.result.is_some() {
        for key in
            ["text", "content", "structured", "is_error", "_meta", "patch"].into_iter().filter(|key| spot.has(key))
        {
            findings.key(
                spot.key(key),
                format!("`result` and `{key}` in one reply"),
                "`result` is the complete result; remove one",
            );
        }
    }
    if let Some(text) = &reply.text {
        placeholders_in(text, spot.key("text"), findings);
    }
    for (key, value) in [("structured", &reply.structured), ("result", &reply.result)] {
        if let Some(value) = value {
            placeholders(value, spot.key(key), findings);
        }
    }
    for (key, value) in reply.patch.iter().flatten() {
        placeholders(value, spot.key("patch").key(key), findings);
    }
}

/// Checks the placeholders in all strings of a value. The loader limits its depth.
fn placeholders(value: &Value, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    match value {
        Value::String(text) => placeholders_in(text, spot, findings),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(position, item)| placeholders(item, spot.item(position), findings));
        }
        Value::Object(members) => {
            members.iter().for_each(|(name, member)| placeholders(member, spot.key(name), findings));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn placeholders_in(text: &str, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    for (start, _) in text.match_indices("{{") {
        let before = text[..start].chars().count();
        let inside = &text[start + 2..];
        let Some((name, _)) = inside.split_once("}}").filter(|(name, _)| !name.contains("{{")) else {
            let location = || spot.part(before, 2);
            findings.at(location, "an unclosed placeholder", "add `}}`, as in `{{arguments.text}}`");
            continue;
        };
        let first = name.trim().split('.').next().unwrap_or_default();
        if !PLACEHOLDERS.contains(&first) {
            let location = || spot.part(before, name.chars().count() + 4);
            findings.at(location, format!("unknown placeholder `{first}`"), nearest::advice(first, PLACEHOLDERS));
        }
    }
}
