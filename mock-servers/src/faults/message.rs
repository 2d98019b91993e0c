//! Faults of the JSON of messages: ids, results, errors and extra members.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::FaultHooks;

/// Responds with an id of the same type that no request has.
#[derive(JsonSchema)]
pub(super) struct WrongId;

impl FaultHooks for WrongId {
    fn rewrite(&self, message: &mut Value, random: &mut ChaCha8Rng) {
        let Some(id) = message.get_mut("id") else { return };
        *id = match id {
            // Far above the ids of a counting client, and still exact in a double.
            Value::Number(_) => Value::from(4_000_000_000_000_u64 + u64::from(random.next_u32())),
            _ => Value::from(format!("unasked-{:016x}", random.next_u64())),
        };
    }
}

/// Responds with the id null, which JSON-RPC 2.0 reserves for responses to unreadable requests and MCP forbids.
#[derive(JsonSchema)]
pub(super) struct NullId;

impl FaultHooks for NullId {
    fn rewrite(&self, message: &mut Value, _: &mut ChaCha8Rng) {
        if let Some(id) = message.get_mut("id") {
            *id = Value::Null;
        }
    }
}

/// Responds with an id that has a fraction, `1.5` for `1`, and `0.5` for a string. JSON-RPC 2.0 advises against
/// fractions, and MCP has only integers and strings.
#[derive(JsonSchema)]
pub(super) struct FloatId;

impl FaultHooks for FloatId {
    fn rewrite(&self, message: &mut Value, _: &mut ChaCha8Rng) {
        if let Some(id) = message.get_mut("id") {
            *id = json!(id.as_f64().unwrap_or(0.0) + 0.5);
        }
    }
}

/// Responds with the id as a string, `"1"` for `1`; a string gets quotation marks inside its own.
#[derive(JsonSchema)]
pub(super) struct StringId;

impl FaultHooks for StringId {
    fn rewrite(&self, message: &mut Value, _: &mut ChaCha8Rng) {
        if let Some(id) = message.get_mut("id") {
            *id = Value::from(id.to_string());
        }
    }
}

/// Adds members that no revision defines to the message and to its result, error or parameters. Clients have to ignore
/// them, because later revisions add members.
#[derive(JsonSchema)]
pub(super) struct UnknownFields;

impl FaultHooks for UnknownFields {
    fn rewrite(&self, message: &mut Value, random: &mut ChaCha8Rng) {
        let mut add = |value: Option<&mut Value>| {
            if let Some(members) = value.and_then(Value::as_object_mut) {
                let name = format!("x-unknown-{:08x}", random.next_u32());
                members.insert(name, json!({ "nested": [1, null, "two"] }));
            }
        };
        for name in ["result", "error", "params"] {
            add(message.get_mut(name));
        }
        add(Some(message));
    }
}

/// Responds with both a result and an error, which JSON-RPC 2.0 forbids (section 5).
#[derive(JsonSchema)]
pub(super) struct BothResultAndError;

impl FaultHooks for BothResultAndError {
    fn rewrite(&self, message: &mut Value, _: &mut ChaCha8Rng) {
        if let Some(members) = message.as_object_mut() {
            members.entry("result").or_insert_with(|| json!({}));
            let error = || json!({ "code": -32603, "message": "an error with a result" });
            members.entry("error").or_insert_with(error);
        }
    }
}

/// Responds with neither a result nor an error, which JSON-RPC 2.0 forbids (section 5).
#[derive(JsonSchema)]
pub(super) struct NeitherResultNorError;

impl FaultHooks for NeitherResultNorError {
    fn rewrite(&self, message: &mut Value, _: &mut ChaCha8Rng) {
        if let Some(members) = message.as_object_mut() {
            members.shift_remove("result");
            members.shift_remove("error");
        }
    }
}

/// Responds twice. With `to-server`, the message arrives twice.
#[derive(JsonSchema)]
pub(super) struct Duplicate;

impl FaultHooks for Duplicate {
    fn copies(&self) -> usize {
        2
    }
}

/// Makes messages at least this many bytes long, by padding inside `_meta`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Oversize(pub usize);

/// The longest padded message, so that a typing error in a script does not exhaust the memory.
const MAX_BYTES: usize = 256 * 1024 * 1024;

impl FaultHooks for Oversize {
    fn rewrite(&self, message: &mut Value, _: &mut ChaCha8Rng) {
        let Some(members) = meta(message) else { return };
        members.insert("padding".into(), Value::from(String::new()));
        let missing = self.0.min(MAX_BYTES).saturating_sub(message.to_string().len());
        if let Some(members) = meta(message) {
            members.insert("padding".into(), "x".repeat(missing).into());
        }
    }
}

/// The object of a message that the protocol does not interpret: `_meta` of the result or of the parameters, `data` of
/// an error. It is created if absent.
pub(super) fn meta(message: &mut Value) -> Option<&mut Map<String, Value>> {
    let members = message.as_object_mut()?;
    let (carrier, name) = match (members.contains_key("error"), members.contains_key("result")) {
        (true, _) => ("error", "data"),
        (false, true) => ("result", "_meta"),
        (false, false) => ("params", "_meta"),
    };
    child(members.entry(carrier).or_insert_with(|| json!({})), name)
}

fn child<'a>(parent: &'a mut Value, name: &str) -> Option<&'a mut Map<String, Value>> {
    let child = parent.as_object_mut()?.entry(name).or_insert_with(|| json!({}));
    if !child.is_object() {
        *child = json!({ "before": child.take() });
    }
    child.as_object_mut()
}
