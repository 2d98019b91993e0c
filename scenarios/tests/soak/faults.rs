//! Every fault there is, each on one message in a hundred.

use std::collections::BTreeSet;

use client::Era;
use mock_servers::script::{Fault, Script};
use serde_json::{Value, json};

use crate::{WAYS, Way};

/// How likely each fault is to act on a message, and on a request for a stream, of which there are far fewer.
const PROBABILITY: f64 = 0.01;
const OF_A_STREAM: f64 = 0.05;

/// How messages travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Front {
    Http,
    Sse,
    Stdio,
}

/// All faults, as a script writes them. Their times and sizes are such that a call may well succeed all the same.
fn all() -> Vec<Value> {
    vec![
        json!("silence"),
        json!({"delay": "20ms"}),
        json!({"latency": {"from": "1ms", "to": "50ms"}}),
        json!({"late-reply": "1s"}),
        json!({"reorder": {"within": "100ms"}}),
        json!({"garbage": "npm WARN deprecated"}),
        json!({"log-lines": {"count": 2, "text": "WARN"}}),
        json!({"stderr-flood": {"bytes": 100_000}}),
        json!({"notification-flood": {"count": 200}}),
        json!("close"),
        json!({"disconnect": {"moment": "amid"}}),
        json!({"exit": {"code": 3}}),
        json!("ignore-sigterm"),
        json!({"grandchild": {"setsid": true, "ignore_sigterm": true, "clear_env": true}}),
        json!({"http-status": {"status": 503, "body": "no"}}),
        json!({"retry-after": {"value": "0"}}),
        json!({"redirect": {"to": {"same-origin": "/nowhere"}}}),
        json!("session-expiry"),
        json!({"stream-error": {"after": "20ms"}}),
        json!("wrong-id"),
        json!("null-id"),
        json!("float-id"),
        json!("string-id"),
        json!("unknown-fields"),
        json!("both-result-and-error"),
        json!("neither-result-nor-error"),
        json!("duplicate"),
        json!({"deep-nesting": 500}),
        json!({"oversize": 200_000}),
        json!({"truncate": 9}),
        json!({"fragment": {"cut": {"every": 7}, "pause": "1ms"}}),
        json!({"coalesce": {"messages": 2}}),
        json!({"slow-drip": {"bytes": 16, "every": "1ms"}}),
        json!("byte-order-mark"),
        json!({"invalid-utf8": {}}),
        json!({"malformed-json": {}}),
        json!({"line-ends": "crlf"}),
        json!("no-event-id"),
        json!({"bad-retry": "soon"}),
        json!({"wrong-content-type": "text/html"}),
    ]
}

fn name(fault: &Value) -> &str {
    let tagged = || fault.as_object()?.keys().next().map(String::as_str);
    fault.as_str().or_else(tagged).expect("a fault has a name")
}

/// Whether a fault does anything on a way. Where it does not, the faults' own tests say why.
fn acts(fault: &str, way: Way) -> bool {
    let front = way.front;
    match fault {
        // 2026-07-28 has no stream that is asked for by itself.
        "stream-error" => front != Front::Http || way.revision.era() == Era::Legacy,
        "stderr-flood" | "ignore-sigterm" | "grandchild" => front == Front::Stdio,
        "wrong-content-type" | "bad-retry" => front != Front::Stdio,
        "no-event-id" => front == Front::Http,
        _ => true,
    }
}

/// The names of those that act on a way.
pub(crate) fn names(way: Way) -> BTreeSet<String> {
    all().iter().map(|fault| name(fault).to_owned()).filter(|name| acts(name, way)).collect()
}

/// A server that has them all, and one tool.
pub(crate) fn script(way: Way) -> Script {
    let front = way.front;
    let rule = |fault: &Value, probability: f64, when: Value| json!({"name": name(fault), "fault": fault, "probability": probability, "when": when});
    let faults = all().into_iter().filter(|fault| acts(name(fault), way)).flat_map(|fault| {
        // Nothing but a stream that was asked for can break off, where there are streams.
        let of_streams = (front != Front::Stdio).then(|| {
            rule(
                &fault,
                if name(&fault) == "stream-error" { OF_A_STREAM } else { PROBABILITY },
                json!({"method": "GET"}),
            )
        });
        let of_messages =
            (name(&fault) != "stream-error" || front == Front::Stdio).then(|| rule(&fault, PROBABILITY, json!({})));
        [of_streams, of_messages].into_iter().flatten()
    });
    let faults: Vec<_> = faults.collect();
    let script = json!({
        "tools": [{"name": "echo", "reply": {"text": "{{arguments.text}}"}}],
        "faults": faults,
    });
    serde_json::from_value(script).expect("a script")
}

/// The table above is complete.
pub(crate) fn every_fault_is_on() {
    let schema = serde_json::to_value(schemars::schema_for!(Fault)).expect("a schema");
    let mut known = BTreeSet::new();
    for one in schema["oneOf"].as_array().expect("the alternatives") {
        known.extend(one["const"].as_str().map(str::to_owned));
        known.extend(one["enum"].as_array().into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)));
        known.extend(one["properties"].as_object().into_iter().flat_map(|members| members.keys().cloned()));
    }
    let on: BTreeSet<_> = WAYS.into_iter().flat_map(names).collect();
    assert_eq!(on, known);
    assert_eq!(known.len(), 40);
}
