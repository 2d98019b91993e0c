//! An id with a fraction: JSON-RPC 2.0 advises against it, MCP knows whole numbers and strings only.

use serde_json::{Value, json};

pub(super) fn twist(message: &mut Value) {
    if let Some(id) = message.get_mut("id") {
        *id = json!(id.as_f64().unwrap_or(0.0) + 0.5);
    }
}
