//! An answer under an id that nobody asked with, of the same kind as the right one.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

pub(super) fn twist(message: &mut Value, random: &mut ChaCha8Rng) {
    let Some(id) = message.get_mut("id") else { return };
    *id = match id {
        // Far above what a client counts up to, and still exact in a double.
        Value::Number(_) => Value::from(4_000_000_000_000_u64 + u64::from(random.next_u32())),
        _ => Value::from(format!("unasked-{:016x}", random.next_u64())),
    };
}
