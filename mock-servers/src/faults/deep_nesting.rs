//! Arrays inside arrays, deeper than a recursive reader can follow.
//!
//! The depth is made in the bytes, behind a mark that the message carries: a value of that depth would overflow the
//! stack of whoever drops it here.

use serde_json::Value;

use super::oversize::meta;

/// What the arrays take the place of. The character is of the private use area, so no message holds it by chance.
const MARK: &str = "\u{e000}nested\u{e000}";
/// The deepest nesting, so that a script's slip does not eat the memory.
const DEEPEST: usize = 10_000_000;

pub(super) fn twist(message: &mut Value) {
    if let Some(meta) = meta(message) {
        meta.insert("nested".into(), MARK.into());
    }
}

pub(super) fn respell(levels: usize, payload: &mut Vec<u8>) {
    let levels = levels.min(DEEPEST);
    let mark = format!("\"{MARK}\"").into_bytes();
    let Some(at) = payload.windows(mark.len()).position(|window| window == mark) else { return };
    let arrays = std::iter::repeat_n(b'[', levels).chain(std::iter::repeat_n(b']', levels));
    // No level at all would leave no value.
    let nested: Vec<u8> = if levels == 0 { b"0".to_vec() } else { arrays.collect() };
    payload.splice(at..at + mark.len(), nested);
}
