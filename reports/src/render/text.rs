//! Hostile text made safe to show: control characters become visible, sizes become bounded.
//!
//! This module knows nothing of any format; markup is escaped by the renderer that writes it.

use unicode_width::UnicodeWidthChar;

/// The longest text of one field that is shown, in characters.
pub(super) const FIELD_LIMIT: usize = 2_000;

/// The text in one line, with everything made visible that a terminal would obey instead of show, and bounded.
pub(super) fn line(text: &str) -> String {
    bounded_line(text, FIELD_LIMIT)
}

/// As [`line()`], with a limit in characters.
pub(super) fn bounded_line(text: &str, limit: usize) -> String {
    let mut shown = String::with_capacity(text.len().min(limit));
    for (count, character) in text.chars().enumerate() {
        if count == limit {
            let left = text.chars().count() - limit;
            shown.push_str(&format!("… [cut: {left} more characters]"));
            break;
        }
        push_visible(&mut shown, character);
    }
    shown
}

/// The lines of a text, each made visible and at most `width` columns wide. After `limit` lines the rest is counted and
/// left out.
pub(super) fn lines(text: &str, limit: usize, width: usize) -> Vec<String> {
    let mut rest = text.lines();
    let mut shown: Vec<String> = rest.by_ref().take(limit).map(|line| fitted(line, width)).collect();
    let left = rest.count();
    if left > 0 {
        shown.push(format!("… [cut: {left} more {}]", if left == 1 { "line" } else { "lines" }));
    }
    shown
}

/// A line of at most `width` columns; where it was cut, its last column is the mark.
fn fitted(text: &str, width: usize) -> String {
    let mut shown = String::new();
    let mut used = 0;
    // How long the text may be if the mark must follow it.
    let mut room_for_mark = 0;
    for character in text.chars() {
        let before = shown.len();
        push_visible(&mut shown, character);
        let columns: usize = shown[before..].chars().filter_map(UnicodeWidthChar::width).sum();
        // A mark that combines has no width; so that they cannot pile up without bound they count as a column here.
        used += columns.max(1);
        if used > width {
            shown.truncate(room_for_mark);
            shown.push('…');
            break;
        }
        if used < width {
            room_for_mark = shown.len();
        }
    }
    shown
}

fn push_visible(shown: &mut String, character: char) {
    match character {
        '\n' => shown.push_str("\\n"),
        '\r' => shown.push_str("\\r"),
        '\t' => shown.push_str("\\t"),
        _ if obeyed(character) => shown.extend(character.escape_unicode()),
        _ => shown.push(character),
    }
}

/// Whether a terminal or a reader would obey a character, or see nothing, instead of seeing it: the control characters;
/// those that turn the direction of the text (Unicode Standard Annex 9) and can make it read as something else; those
/// that cannot be seen; and those that XML 1.0 cannot hold.
fn obeyed(character: char) -> bool {
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
    fn makes_visible_what_a_terminal_would_obey() {
        assert_eq!(line("a\u{1b}[31mred\u{7}\r\n\tb"), "a\\u{1b}[31mred\\u{7}\\r\\n\\tb");
        assert_eq!(line("\u{9b}2J\u{7f}"), "\\u{9b}2J\\u{7f}");
    }

    #[test]
    fn makes_visible_what_turns_the_direction_of_text() {
        assert_eq!(line("user\u{202e}nimda\u{2066}\u{200f}"), "user\\u{202e}nimda\\u{2066}\\u{200f}");
    }

    #[test]
    fn leaves_other_scripts_and_joined_emoji_alone() {
        let text = "naïve 日本語 مرحبا 👩\u{200d}💻";
        assert_eq!(line(text), text);
    }

    #[test]
    fn says_how_much_of_a_field_was_cut() {
        assert_eq!(bounded_line("abcdef", 4), "abcd… [cut: 2 more characters]");
        assert_eq!(bounded_line("abcd", 4), "abcd");
    }

    #[test]
    fn says_how_many_lines_were_cut() {
        assert_eq!(lines("a\nb\nc", 1, 80), ["a", "… [cut: 2 more lines]"]);
        assert_eq!(lines("a\nb", 1, 80), ["a", "… [cut: 1 more line]"]);
    }

    #[test]
    fn measures_width_in_columns() {
        assert_eq!(lines("日本語", 1, 5), ["日本…"]);
        assert_eq!(lines("日本語", 1, 4), ["日…"]);
        assert_eq!(lines("日本語", 1, 6), ["日本語"]);
        assert_eq!(lines("abcd", 1, 4), ["abcd"]);
    }

    #[test]
    fn marks_that_combine_cannot_pile_up() {
        let zalgo = format!("a{}", "\u{301}".repeat(1_000));
        assert!(lines(&zalgo, 1, 10)[0].chars().count() <= 12);
    }
}
