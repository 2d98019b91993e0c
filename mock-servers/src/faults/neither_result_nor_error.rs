//! An answer that says nothing, which JSON-RPC 2.0 forbids (section 5).

use serde_json::Value;

pub(super) fn twist(message: &mut Value) {
    if let Some(members) = message.as_object_mut() {
        members.shift_remove("result");
        members.shift_remove("error");
    }
}
