//! Escapes control characters and limits the length of untrusted text. Each renderer escapes its own markup.

use unicode_width::UnicodeWidthChar;

/// Maximum length of one field, in characters.
pub(super) const MAX_FIELD: usize = 2_000;

/// Returns the text as one line with control characters escaped, truncated to [`MAX_FIELD`].
pub(super) fn line(text: &str) -> String {
    bounded_line(text, MAX_FIELD)
}

/// Like [`line()`], truncated to `limit` characters.
pub(super) fn bounded_line(text: &str, limit: usize) -> String {
    let mut shown = String::with_capacity(text.len().min(limit));
    for (count, character) in text.chars().enumerate() {
        if count == limit {
            let left = text.chars().count() - limit;
            shown.push_str(&format!("… [{left} more characters]"));
            break;
        }
        push_visible(&mut shown, character);
    }
    shown
}

/// Returns at most `limit` lines, escaped and truncated to `width` columns, and the number of omitted lines.
pub(super) fn lines(text: &str, limit: usize, width: usize) -> Vec<String> {
    let mut rest = text.lines();
    let mut shown: Vec<String> = rest.by_ref().take(limit).map(|line| fitted(line, width)).collect();
    let left = rest.count();
    if left > 0 {
        shown.push(format!("… [{left} more {}]", if left == 1 { "line" } else { "lines" }));
    }
    shown
}

/// Returns the escaped line, truncated with `…` if it is wider than `width` columns.
pub(super) fn fitted(text: &str, width: usize) -> String {
    let mut shown = String::new();
    let mut used = 0;
    // Length of the text if the ellipsis has to follow it.
    let mut end_before_ellipsis = 0;
    for character in text.chars() {
        let before = shown.len();
        push_visible(&mut shown, character);
        let columns: usize = shown[before..].chars().filter_map(UnicodeWidthChar::width).sum();
        // Combining marks have no width; counting them as one column limits how many can pile up.
        used += columns.max(1);
        if used > width {
            shown.truncate(end_before_ellipsis);
            shown.push('…');
            break;
        }
        if used < width {
            end_before_ellipsis = shown.len();
        }
    }
    shown
}

fn push_visible(shown: &mut String, character: char) {
    match character {
        '\n' => shown.push_str("\\n"),
        '\r' => shown.push_str("\\r"),
        '\t' => shown.push_str("\\t"),
        _ if is_unsafe(character) => shown.extend(character.escape_unicode()),
        _ => shown.push(character),
    }
}

/// Whether a character has to be escaped: control characters, bidirectional controls (Unicode Standard Annex 9) that can
/// disguise text, invisible characters, and characters that XML 1.0 does not allow.
pub(super) fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{00AD}' | '\u{061C}' | '\u{180E}' | '\u{200B}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}' | '\u{FFFE}' | '\u{FFFF}'
            | '\u{E0000}'..='\u{E007F}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_control_characters() {
        assert_eq!(line("a\u{1b}[31mred\u{7}\r\n\tb"), "a\\u{1b}[31mred\\u{7}\\r\\n\\tb");
        assert_eq!(line("\u{9b}2J\u{7f}"), "\\u{9b}2J\\u{7f}");
    }

    #[test]
    fn escapes_bidirectional_controls() {
        assert_eq!(line("user\u{202e}nimda\u{2066}\u{200f}"), "user\\u{202e}nimda\\u{2066}\\u{200f}");
    }

    #[test]
    fn keeps_other_scripts_and_joined_emoji() {
        let text = "naïve 日本語 مرحبا 👩\u{200d}💻";
        assert_eq!(line(text), text);
    }

    #[test]
    fn reports_the_number_of_omitted_characters() {
        assert_eq!(bounded_line("abcdef", 4), "abcd… [2 more characters]");
        assert_eq!(bounded_line("abcd", 4), "abcd");
    }

    #[test]
    fn reports_the_number_of_omitted_lines() {
        assert_eq!(lines("a\nb\nc", 1, 80), ["a", "… [2 more lines]"]);
        assert_eq!(lines("a\nb", 1, 80), ["a", "… [1 more line]"]);
    }

    #[test]
    fn measures_width_in_columns() {
        assert_eq!(lines("日本語", 1, 5), ["日本…"]);
        assert_eq!(lines("日本語", 1, 4), ["日…"]);
        assert_eq!(lines("日本語", 1, 6), ["日本語"]);
        assert_eq!(lines("abcd", 1, 4), ["abcd"]);
    }

    #[test]
    fn combining_marks_cannot_pile_up() {
        let zalgo = format!("a{}", "\u{301}".repeat(1_000));
        assert!(lines(&zalgo, 1, 10)[0].chars().count() <= 12);
    }
}
