//! Strings of a client in messages and in the audit log.

/// The string in at most 200 characters, without control characters, quotes and backslashes, which headers and terminals
/// could misinterpret.
pub(crate) fn sanitized(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control() && !matches!(letter, '"' | '\\')).take(200).collect()
}
