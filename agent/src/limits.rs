//! Texts within bounds.

/// The beginning of a text: at most so many bytes, and whole characters.
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
    fn a_character_is_whole_or_left_out() {
        assert_eq!(["é", "aé", ""].map(|text| super::head(text, 1)), ["", "a", ""]);
        assert_eq!(super::head("aé", 3), "aé");
        assert_eq!(super::head("aé", 9), "aé");
    }
}
