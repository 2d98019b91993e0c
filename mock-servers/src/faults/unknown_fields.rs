//! Members that no revision knows. Clients have to let them pass: later revisions add members all the time.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

pub(super) fn twist(message: &mut Value, random: &mut ChaCha8Rng) {
    let mut add = |at: Option<&mut Value>| {
        if let Some(members) = at.and_then(Value::as_object_mut) {
            let name = format!("x-unknown-{:08x}", random.next_u32());
            members.insert(name, json!({ "nested": [1, null, "two"] }));
        }
    };
    for place in ["result", "error", "params"] {
        add(message.get_mut(place));
    }
    add(Some(message));
}
