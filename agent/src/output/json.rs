//! JSON that is too long, made shorter and still JSON.

use serde_json::{Map, Value};

use super::tokens;

/// Less room than this is not worth beginning anything in, in bytes.
const LEAST: usize = 48;
/// What the words about what is left out take, in bytes.
const WORDS: usize = 48;
/// How often the room is adjusted to the tokens that it turned out to be.
const ROUNDS: usize = 6;

/// The value as text within the limit: the beginnings of arrays, objects and texts, each with words about what of it is left
/// out. `None` where not even that fits.
pub(super) fn shorten(value: &Value, limit: usize) -> Option<String> {
    let mut best: Option<String> = None;
    // Three bytes a token is usual for JSON; the first round tells.
    let mut room = limit.saturating_mul(3);
    for _ in 0..ROUNDS {
        let text = fit(value, room).0.to_string();
        match tokens::within(&text, limit) {
            Some(tokens) => {
                let grown = best.as_ref().is_none_or(|best| best.len() < text.len());
                let used_room = text.len() > room / 10 * 7;
                if grown {
                    best = Some(text);
                }
                // It is good enough once most of the limit is used, and more room is no use once it makes no difference.
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

/// As much of the value as there is room for, and how many bytes that is.
fn fit(value: &Value, room: usize) -> (Value, usize) {
    match value {
        Value::String(text) => fit_text(text, room),
        Value::Array(items) => fit_array(items, room),
        Value::Object(members) => fit_object(members, room),
        scalar => (scalar.clone(), scalar.to_string().len()),
    }
}

/// How much of the room one of several may take: no more than half, so that a long one leaves something for those after it.
fn share(left: usize, others: usize) -> usize {
    if others == 0 { left } else { (left / 2).max(LEAST) }
}

fn fit_text(text: &str, room: usize) -> (Value, usize) {
    let mut used = 2;
    for (at, character) in text.char_indices() {
        used += escaped(character);
        if used > room && text.len() - at > WORDS {
            // What was taken so far is more than there is room for once the words are there.
            let mut end = tokens::floor(text, at.saturating_sub(WORDS));
            if end == 0 && at > WORDS {
                end = tokens::floor(text, at);
            }
            let left_out = text[end..].chars().count();
            let short = format!("{}… [{left_out} more characters left out]", &text[..end]);
            let size = Value::from(short.as_str()).to_string().len();
            return (Value::String(short), size);
        }
    }
    (Value::from(text), used)
}

/// How many bytes a character is in JSON.
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
        let left = room.saturating_sub(used + if others == 0 { 0 } else { WORDS });
        if left < LEAST.min(item_size(item)) {
            let words = format!("… {} more items left out", items.len() - index);
            used += words.len() + 2;
            kept.push(Value::String(words));
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
        let left = room.saturating_sub(used + name + if others == 0 { 0 } else { WORDS });
        if left < LEAST.min(item_size(value)) {
            let words = format!("{} more members left out", members.len() - index);
            let mut sign = "…".to_owned();
            while members.contains_key(&sign) {
                sign.push('…');
            }
            used += words.len() + sign.len() + 6;
            kept.insert(sign, Value::String(words));
            break;
        }
        let (value, size) = fit(value, share(left, others));
        used += name + size;
        kept.insert(key.clone(), value);
    }
    (Value::Object(kept), used)
}

/// The size of what is always kept whole; of the rest no more than that it is large.
fn item_size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string().len(),
        _ => LEAST,
    }
}
