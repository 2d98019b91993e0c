//! Messages of clients, right ones and mutated ones.

use rand::{Rng, RngExt as _};
use serde_json::{Value, json};

use crate::mutation::{self, odd_text, once_in, pick};

pub(crate) const MODERN: &str = "2026-07-28";
pub(crate) const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", MODERN];

const METHODS: [&str; 28] = [
    "initialize",
    "ping",
    "tools/list",
    "tools/call",
    "tools/call",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
    "server/discover",
    "subscriptions/listen",
    "tasks/get",
    "tasks/result",
    "tasks/list",
    "tasks/cancel",
    "tasks/update",
    "notifications/initialized",
    "notifications/cancelled",
    "notifications/progress",
    "notifications/roots/list_changed",
    "GET",
    "DELETE",
];

/// What a server has said before and a client may bring back.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    pub(crate) cursors: Vec<Value>,
    pub(crate) states: Vec<Value>,
    pub(crate) requests: Vec<Value>,
    pub(crate) tasks: Vec<Value>,
}

impl Heard {
    /// Takes up what a message of the server's gives to bring back.
    pub(crate) fn listen(&mut self, message: &Value) {
        let keep = |list: &mut Vec<Value>, found: Option<&Value>| {
            if let Some(found) = found.filter(|_| list.len() < 50) {
                list.push(found.clone());
            }
        };
        keep(&mut self.cursors, message.pointer("/result/nextCursor"));
        keep(&mut self.states, message.pointer("/result/requestState"));
        keep(&mut self.tasks, message.pointer("/result/taskId").or_else(|| message.pointer("/result/task/taskId")));
        keep(&mut self.requests, message.get("id").filter(|_| message.get("method").is_some()));
    }
}

/// A message as a good client might send it.
pub(crate) fn good(random: &mut impl Rng, heard: &Heard) -> Value {
    if once_in(random, 8) {
        let id = one_of(random, &heard.requests).unwrap_or(json!(1));
        return json!({"jsonrpc": "2.0", "id": id, "result": {"action": "accept", "content": {"name": "x"}}});
    }
    let method = pick(random, &METHODS);
    let mut params = json!({
        "name": pick(random, &["echo", "echo", "ask", "slow", "absent"]),
        "arguments": {"text": odd_text(random)},
        "uri": pick(random, &["test://a", "test://none"]),
        "protocolVersion": pick(random, &REVISIONS),
        "capabilities": {"elicitation": {}, "sampling": {}, "roots": {}, "tasks": {}},
        "level": "info",
        "requestId": random.random_range(0..6),
        "ref": {"type": "ref/prompt", "name": "p"},
        "argument": {"name": "a", "value": "b"},
        "notifications": {"toolsListChanged": true},
        "taskId": one_of(random, &heard.tasks).unwrap_or(json!("none")),
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}, "sampling": {}, "roots": {}},
            "progressToken": "p",
        },
    });
    for (name, known, rarity) in [("cursor", &heard.cursors, 3), ("requestState", &heard.states, 3)] {
        if let Some(value) = one_of(random, known).filter(|_| once_in(random, rarity)) {
            params[name] = value;
            params["inputResponses"] = json!({"input": {"action": "accept", "content": {"name": "x"}}});
        }
    }
    let mut message = json!({"jsonrpc": "2.0", "method": method, "params": params});
    if !method.starts_with("notifications/") {
        message["id"] = if once_in(random, 3) { json!(odd_text(random)) } else { json!(random.random_range(0..6)) };
    }
    message
}

/// The bytes of a message, or of several, that may have been changed anywhere.
pub(crate) fn any(random: &mut impl Rng, heard: &Heard) -> Vec<u8> {
    let mut message = good(random, heard);
    if once_in(random, 10) {
        message = (0..random.random_range(0..4)).map(|_| good(random, heard)).collect();
    }
    if once_in(random, 2) {
        (0..random.random_range(1..4)).for_each(|_| mutation::value(random, &mut message));
    }
    let mut bytes = message.to_string().into_bytes();
    if once_in(random, 6) {
        mutation::bytes(random, &mut bytes);
    }
    bytes
}

fn one_of(random: &mut impl Rng, from: &[Value]) -> Option<Value> {
    (!from.is_empty()).then(|| from[random.random_range(0..from.len())].clone())
}
