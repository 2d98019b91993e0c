//! Formatting of sizes and of untrusted text.

/// Escapes control characters and invisible characters as `\u{1b}`. Line feeds and tabs stay.
#[must_use]
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if is_unsafe(character) { out.extend(character.escape_unicode()) } else { out.push(character) }
    }
    out
}

/// Control characters, bidirectional marks and invisible characters. With them a user reads something other than the model
/// (Unicode Technical Report 36; tags are U+E0000 to U+E007F).
fn is_unsafe(character: char) -> bool {
    (character.is_control() && !matches!(character, '\n' | '\t'))
        || matches!(character,
            '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}'
            | '\u{e0000}'..='\u{e007f}')
}

/// Formats a number of bytes: `1 byte`, `812 bytes`, `12.3 kB`, `10.0 MB`.
#[must_use]
pub fn size(bytes: u64) -> String {
    match bytes {
        1 => "1 byte".to_owned(),
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{}.{} kB", bytes / 1_000, bytes % 1_000 / 100),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}
