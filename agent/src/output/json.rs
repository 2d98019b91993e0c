//! Shortens JSON values so that they remain valid JSON.

use serde_json::{Map, Value};

use super::tokens;

/// Minimum number of bytes in which a value is started.
const MIN_BYTES: usize = 48;
/// Bytes reserved for the note about omitted content.
const NOTE_BYTES: usize = 48;
/// Maximum number of attempts to fit the limit.
const MAX_ATTEMPTS: usize = 6;

/// Formats the value within the limit: arrays, objects and strings keep their beginning and a note about the omitted rest.
/// Returns `None` if not even the notes fit.
pub(super) fn shorten(value: &Value, limit: usize) -> Option<String> {
    let mut best: Option<String> = None;
    // JSON has about three bytes per token; the first attempt measures it.
    let mut room = limit.saturating_mul(3);
    for _ in 0..MAX_ATTEMPTS {
        let text = fit(value, room).0.to_string();
        match tokens::within(&text, limit) {
            Some(tokens) => {
                let grown = best.as_ref().is_none_or(|best| best.len() < text.len());
                let used_room = text.len() > room / 10 * 7;
                if grown {
                    best = Some(text);
                }
                // Stop once most of the limit is used, or once more room does not change the text.
                if !grown || tokens.saturating_mul(10) >= limit.saturating_mul(8) {
                    break;
                }
                room = if used_room { room / 10 * 13 } else { room.saturating_mul(2) };
            }
            None if best.is_some() => break,
            None => room = room / 10 * 6,
        }
    }
    best
}

/// The part of a value that fits into `room` bytes, and its size.
fn fit(value: &Value, room: usize) -> (Value, usize) {
    match value {
        Value::String(text) => fit_text(text, room),
        Value::Array(items) => fit_array(items, room),
        Value::Object(members) => fit_object(members, room),
        scalar => (scalar.clone(), scalar.to_string().len()),
    }
}

/// Bytes for one of several values: at most half, so that a long value leaves room for the next.
fn share(left: usize, others: usize) -> usize {
    if others == 0 { left } else { (left / 2).max(MIN_BYTES) }
}

fn fit_text(text: &str, room: usize) -> (Value, usize) {
    let mut used = 2;
    for (at, character) in text.char_indices() {
        used += escaped(character);
        if used > room && text.len() - at > NOTE_BYTES {
            // The note needs room too.
            let mut end = tokens::floor(text, at.saturating_sub(NOTE_BYTES));
            if end == 0 && at > NOTE_BYTES {
                end = tokens::floor(text, at);
            }
            let omitted = text[end..].chars().count();
            let short = format!("{}… [{omitted} more characters omitted]", &text[..end]);
            let size = Value::from(short.as_str()).to_string().len();
            return (Value::String(short), size);
        }
    }
    (Value::from(text), used)
}

/// Bytes of a character in JSON.
fn escaped(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        _ => character.len_utf8(),
    }
}

fn fit_array(items: &[Value], room: usize) -> (Value, usize) {
    let (mut kept, mut used) = (Vec::new(), 2);
    for (index, item) in items.iter().enumerate() {
        let others = items.len() - index - 1;
        let left = room.saturating_sub(used + if others == 0 { 0 } else { NOTE_BYTES });
        if left < MIN_BYTES.min(item_size(item)) {
            let note = format!("… {} more items omitted", items.len() - index);
            used += note.len() + 2;
            kept.push(Value::String(note));
            break;
        }
        let (item, size) = fit(item, share(left, others));
        used += size + 1;
        kept.push(item);
    }
    (Value::Array(kept), used)
}

fn fit_object(members: &Map<String, Value>, room: usize) -> (Value, usize) {
    let (mut kept, mut used) = (Map::new(), 2);
    for (index, (key, value)) in members.iter().enumerate() {
        let others = members.len() - index - 1;
        let name: usize = 4 + key.chars().map(escaped).sum::<usize>();
        let left = room.saturating_sub(used + name + if others == 0 { 0 } else { NOTE_BYTES });
        if left < MIN_BYTES.min(item_size(value)) {
            let note = format!("{} more members omitted", members.len() - index);
            let mut sign = "…".to_owned();
            while members.contains_key(&sign) {
                sign.push('…');
            }
            used += note.len() + sign.len() + 6;
            kept.insert(sign, Value::String(note));
            break;
        }
        let (value, size) = fit(value, share(left, others));
        used += name + size;
        kept.insert(key.clone(), value);
    }
    (Value::Object(kept), used)
}

/// The size of a scalar, which is never shortened; a lower bound for other values.
fn item_size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string().len(),
        _ => MIN_BYTES,
    }
}
