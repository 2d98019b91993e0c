//! The id null, which JSON-RPC 2.0 keeps for answers to what could not be read, and which MCP forbids.

use serde_json::Value;

pub(super) fn twist(message: &mut Value) {
    if let Some(id) = message.get_mut("id") {
        *id = Value::Null;
    }
}
