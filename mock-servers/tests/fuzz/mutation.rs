//! Changes to a value and to bytes, drawn at random.

use rand::{Rng, RngExt as _};
use serde_json::{Map, Value, json};

/// One of these.
pub(crate) fn pick<'a, T: ?Sized>(random: &mut impl Rng, from: &[&'a T]) -> &'a T {
    from[random.random_range(0..from.len())]
}

/// Whether something happens that happens once in so many times.
pub(crate) fn once_in(random: &mut impl Rng, times: u32) -> bool {
    random.random_range(0..times) == 0
}

/// A value that breaks what is careless.
fn odd(random: &mut impl Rng) -> Value {
    let text = odd_text(random);
    match random.random_range(0..16) {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(0),
        3 => json!(-1),
        4 => json!(i64::MIN),
        5 => json!(u64::MAX),
        6 => json!(1.5),
        7 => json!(-0.0),
        8 => json!(1e300),
        9 => json!([]),
        10 => json!({}),
        11 => json!([[[[{}]]]]),
        12 => json!({ "": { "": "" } }),
        13 => json!(["2.0", 1, null]),
        _ => Value::from(text),
    }
}

/// A text that breaks what is careless.
pub(crate) fn odd_text(random: &mut impl Rng) -> String {
    let pieces = [
        "",
        "a",
        "\r",
        "\n",
        "\r\n",
        "\n\n",
        "\r\r",
        "data: x",
        "event: y\n",
        "id: 1\n",
        ":",
        "\0",
        "\u{feff}",
        "\u{2028}",
        "{{",
        "}}",
        "{{arguments}}",
        "{{params.arguments.text}}",
        "{{nth}}",
        "\"",
        "\\",
        "\\u0000",
        "../",
        "%00",
        "é",
        "\u{1F980}",
        " ",
        "\t",
        "=?base64?",
        "?=",
        "2026-07-28",
        "0",
    ];
    let count = random.random_range(0..5);
    (0..count).map(|_| pick(random, &pieces)).collect()
}

/// Changes a value somewhere: a member or an item is replaced, taken away, doubled or renamed.
pub(crate) fn value(random: &mut impl Rng, value: &mut Value) {
    match value {
        Value::Object(members) if !members.is_empty() && !once_in(random, 8) => object(random, members),
        Value::Array(items) if !items.is_empty() && !once_in(random, 6) => {
            let at = random.random_range(0..items.len());
            match random.random_range(0..4) {
                0 => drop(items.remove(at)),
                1 => items.push(items[at].clone()),
                _ => self::value(random, &mut items[at]),
            }
        }
        other => *other = odd(random),
    }
}

fn object(random: &mut impl Rng, members: &mut Map<String, Value>) {
    let at = random.random_range(0..members.len());
    let Some(name) = members.keys().nth(at).cloned() else { return };
    match random.random_range(0..8) {
        0 => drop(members.remove(&name)),
        1 => {
            let moved = members.remove(&name).unwrap_or_default();
            members.insert(odd_text(random), moved);
        }
        2 => drop(members.insert(odd_text(random), odd(random))),
        3 => drop(members.insert(name, odd(random))),
        _ => {
            if let Some(member) = members.get_mut(&name) {
                value(random, member);
            }
        }
    }
}

/// Changes some bytes: flips, cuts, doubles, puts in.
pub(crate) fn bytes(random: &mut impl Rng, bytes: &mut Vec<u8>) {
    for _ in 0..random.random_range(1..4) {
        let at = random.random_range(0..=bytes.len());
        match random.random_range(0..7) {
            0 => bytes.truncate(at),
            1 if at < bytes.len() => bytes[at] ^= 1 << random.random_range(0..8),
            2 => drop(bytes.splice(at..at, odd_text(random).into_bytes())),
            3 => drop(bytes.splice(at..at, [0xff, 0xc0, 0x80])),
            4 => {
                let end = random.random_range(at..=bytes.len());
                let piece = bytes[at..end].to_vec();
                bytes.extend(piece);
            }
            5 => drop(bytes.splice(at..at, b"[".repeat(random.random_range(1..300)))),
            _ => {
                let end = (at + random.random_range(0..9)).min(bytes.len());
                bytes.drain(at..end);
            }
        }
    }
}
