//! Truncation of strings.

/// The longest prefix of whole characters with at most this many bytes.
pub(crate) fn head(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    #[test]
    fn characters_are_not_split() {
        assert_eq!(["é", "aé", ""].map(|text| super::head(text, 1)), ["", "a", ""]);
        assert_eq!(super::head("aé", 3), "aé");
        assert_eq!(super::head("aé", 9), "aé");
    }
}
