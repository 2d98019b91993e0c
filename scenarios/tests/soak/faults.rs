//! Every fault there is, each on one message in a hundred.

use std::collections::BTreeSet;

use client::Era;
use evidence::Transport;
use mock_servers::script::{Fault, Script};
use serde_json::{Value, json};

use crate::{VARIANTS, Variant};

/// How likely each fault is to act on a message, and on a request for a stream, of which there are far fewer.
const PROBABILITY: f64 = 0.01;
const OF_A_STREAM: f64 = 0.05;

/// How messages travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerTransport {
    Http,
    Sse,
    Stdio,
}

/// All faults as in a script, with times and sizes that let most calls succeed. Faults without parameters need no entry.
fn all() -> Vec<Value> {
    let with_parameters = vec![
        json!({"delay": "20ms"}),
        json!({"latency": {"from": "1ms", "to": "50ms"}}),
        json!({"late-reply": "1s"}),
        json!({"reorder": {"within": "100ms"}}),
        json!({"garbage": "npm WARN deprecated"}),
        json!({"log-lines": {"count": 2, "text": "WARN"}}),
        json!({"stderr-flood": {"bytes": 100_000}}),
        json!({"notification-flood": {"count": 200}}),
        json!({"disconnect": {"moment": "inside"}}),
        json!({"exit": {"code": 3}}),
        json!({"grandchild": {"setsid": true, "ignore_sigterm": true, "clear_env": true}}),
        json!({"event-fields": {"id": "same"}}),
        json!({"leak": {"bytes": 100}}),
        json!({"http-status": {"status": 503, "body": "no"}}),
        json!({"retry-after": {"value": "0"}}),
        json!({"redirect": {"to": {"same-origin": "/nowhere"}}}),
        json!({"stream-error": {"after": "20ms"}}),
        json!({"deep-nesting": 500}),
        json!({"oversize": 200_000}),
        json!({"truncate": 9}),
        json!({"fragment": {"cut": {"every": 7}, "pause": "1ms"}}),
        json!({"coalesce": {"messages": 2}}),
        json!({"slow-drip": {"bytes": 16, "every": "1ms"}}),
        json!({"invalid-utf8": {}}),
        json!({"malformed-json": {}}),
        json!({"line-ends": "crlf"}),
        json!({"bad-retry": "soon"}),
        json!({"wrong-content-type": "text/html"}),
        json!({"rewrite": {"set": {"/result": 5}}}),
        json!({"http-head": {"status": 203}}),
    ];
    let listed: Vec<_> = with_parameters.iter().map(|fault| name(fault).to_owned()).collect();
    let plain = Fault::names().into_iter().filter(|name| !listed.contains(name)).map(Value::from);
    plain.chain(with_parameters).collect()
}

fn name(fault: &Value) -> &str {
    let tagged = || fault.as_object()?.keys().next().map(String::as_str);
    fault.as_str().or_else(tagged).expect("a fault has a name")
}

/// Whether a client can observe a fault on a variant.
fn acts(fault: &Value, variant: Variant) -> bool {
    // 2026-07-28 has no stream that is requested by itself.
    let has_stream = name(fault) != "stream-error"
        || variant.transport != ServerTransport::Http
        || variant.revision.era() == Era::Legacy;
    let fault: Fault = serde_json::from_value(fault.clone()).expect("a fault");
    let transport = match variant.transport {
        ServerTransport::Http => Transport::StreamableHttp,
        ServerTransport::Sse => Transport::HttpSse,
        ServerTransport::Stdio => Transport::Stdio,
    };
    has_stream && fault.class().transports.contains(&transport)
}

/// The names of those that act on a variant.
pub(crate) fn names(variant: Variant) -> BTreeSet<String> {
    all().iter().filter(|fault| acts(fault, variant)).map(|fault| name(fault).to_owned()).collect()
}

/// A server that has them all, and one tool.
pub(crate) fn script(variant: Variant) -> Script {
    let transport = variant.transport;
    let rule = |fault: &Value, probability: f64, when: Value| json!({"name": name(fault), "fault": fault, "probability": probability, "when": when});
    let faults = all().into_iter().filter(|fault| acts(fault, variant)).flat_map(|fault| {
        // Nothing but a stream that was asked for can break off, where there are streams.
        let of_streams = (transport != ServerTransport::Stdio).then(|| {
            rule(
                &fault,
                if name(&fault) == "stream-error" { OF_A_STREAM } else { PROBABILITY },
                json!({"method": "GET"}),
            )
        });
        let of_messages = (name(&fault) != "stream-error" || transport == ServerTransport::Stdio)
            .then(|| rule(&fault, PROBABILITY, json!({})));
        [of_streams, of_messages].into_iter().flatten()
    });
    let faults: Vec<_> = faults.collect();
    let script = json!({
        "tools": [{"name": "echo", "reply": {"text": "{{arguments.text}}"}}],
        "faults": faults,
    });
    serde_json::from_value(script).expect("a script")
}

/// Every fault acts on some variant.
pub(crate) fn every_fault_is_on() {
    let on: BTreeSet<_> = VARIANTS.into_iter().flat_map(names).collect();
    assert_eq!(on, Fault::names().into_iter().collect());
    assert!(on.len() >= 40, "{}", on.len());
}
