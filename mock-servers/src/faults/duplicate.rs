//! The same answer twice. Toward the server: the message arrives twice.

use serde_json::Value;

pub(super) fn twist(message: Value) -> Vec<Value> {
    vec![message.clone(), message]
}
