//! A result and an error in one answer, which JSON-RPC 2.0 forbids (section 5).

use serde_json::{Value, json};

pub(super) fn twist(message: &mut Value) {
    if let Some(members) = message.as_object_mut() {
        members.entry("result").or_insert_with(|| json!({}));
        let error = || json!({ "code": -32603, "message": "an error beside a result" });
        members.entry("error").or_insert_with(error);
    }
}
