//! Sizes and foreign text in words of ours.

/// The text without anything that a terminal would act upon, or that would let a text look like another: such characters
/// are written as `\u{1b}`. Line feeds and tabs stay.
#[must_use]
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if is_unsafe(character) { out.extend(character.escape_unicode()) } else { out.push(character) }
    }
    out
}

/// Controls, and the marks that turn the direction of writing or cannot be seen at all: with them what a person reads is
/// not what a model reads (Unicode Technical Report 36; tags are U+E0000 to U+E007F).
fn is_unsafe(character: char) -> bool {
    (character.is_control() && !matches!(character, '\n' | '\t'))
        || matches!(character,
            '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}'
            | '\u{e0000}'..='\u{e007f}')
}

/// A number of bytes as people say it: `1 byte`, `812 bytes`, `12.3 kB`, `10.0 MB`.
#[must_use]
pub fn size(bytes: u64) -> String {
    match bytes {
        1 => "1 byte".to_owned(),
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{}.{} kB", bytes / 1_000, bytes % 1_000 / 100),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}
