//! Messages longer than a reader may want to take.

use serde_json::{Map, Value, json};

/// The longest message, so that a script's slip does not eat the memory.
const LONGEST: usize = 256 * 1024 * 1024;

pub(super) fn twist(message: &mut Value, bytes: usize) {
    let Some(meta) = meta(message) else { return };
    meta.insert("padding".into(), Value::from(String::new()));
    let missing = bytes.min(LONGEST).saturating_sub(message.to_string().len());
    if let Some(meta) = super::oversize::meta(message) {
        meta.insert("padding".into(), "x".repeat(missing).into());
    }
}

/// The place in a message for what the protocol does not look at: `_meta` of the result or of the parameters, `data` of
/// an error. It is made where it is absent.
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
