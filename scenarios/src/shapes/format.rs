//! Formats of strings. Each accepts every string that is correct, and rejects those that are certainly not.

/// Whether a string has the form of a URI: a scheme, a colon, and no white space (RFC 3986, section 3.1). Characters
/// beyond ASCII are accepted, since such identifiers (RFC 3987) are in use.
#[must_use]
pub fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let starts_with_letter = scheme.starts_with(|first: char| first.is_ascii_alphabetic());
    let is_scheme_character = |one: char| one.is_ascii_alphanumeric() || matches!(one, '+' | '-' | '.');
    starts_with_letter && scheme.chars().all(is_scheme_character) && !rest.contains(is_blank)
}

/// Whether a string has the form of a URI template: its expressions in braces are not empty and not nested, and it has no
/// white space (RFC 6570, section 2).
#[must_use]
pub fn is_uri_template(text: &str) -> bool {
    let mut expression = None;
    for (position, character) in text.char_indices() {
        match (character, expression) {
            ('{', None) => expression = Some(position),
            ('}', Some(start)) if start + 1 < position => expression = None,
            ('{' | '}', _) => return false,
            (other, _) if is_blank(other) => return false,
            _ => {}
        }
    }
    expression.is_none()
}

fn is_blank(character: char) -> bool {
    character.is_whitespace() || character.is_control()
}

/// Whether a string is base64 with padding and without line breaks (RFC 4648, sections 3.1 to 3.3 and 4).
#[must_use]
pub fn is_base64(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    text.len().is_multiple_of(4) && text.len() - digits.len() <= 2 && digits.bytes().all(is_digit)
}
