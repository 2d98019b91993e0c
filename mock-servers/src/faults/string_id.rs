//! The right id as text: `"1"` is not `1`, and a client that compares loosely never notices.

use serde_json::Value;

pub(super) fn twist(message: &mut Value) {
    if let Some(id) = message.get_mut("id") {
        *id = Value::from(id.to_string());
    }
}
