//! Patterns of names: `*` matches any run of characters, `?` any one character, `\` escapes the next character.
//!
//! `?` and classes of globset match bytes, but names are not always ASCII. A test compares both for the common syntax. Other
//! special characters of globset are rejected.

/// Maximum length of a pattern in characters. Matching takes time proportional to pattern and name.
const MAX_LEN: usize = 512;

/// A case-sensitive pattern of names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Glob {
    tokens: Vec<Token>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Literal(char),
    AnyOne,
    AnyRun,
}

/// Why a pattern is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GlobError {
    /// A special character of other pattern languages.
    #[error("`{0}` is not supported in rules; write `\\{0}` to match the character")]
    Special(char),
    /// A `\` at the end.
    #[error("no character follows the `\\` at the end; write `\\\\` to match a backslash")]
    OpenEnd,
    /// The pattern is too long.
    #[error("the pattern is longer than {MAX_LEN} characters; `*` matches any run of characters")]
    TooLong,
    /// A control character.
    #[error("the pattern contains a control character; `?` matches any one character")]
    Control,
}

impl Glob {
    pub(super) fn parse(text: &str) -> Result<Self, GlobError> {
        if text.chars().count() > MAX_LEN {
            return Err(GlobError::TooLong);
        }
        let (mut tokens, mut rest) = (Vec::new(), text.chars());
        while let Some(character) = rest.next() {
            tokens.push(match character {
                // Several in a row are equivalent to one.
                '*' if tokens.last() == Some(&Token::AnyRun) => continue,
                '*' => Token::AnyRun,
                '?' => Token::AnyOne,
                '\\' => Token::Literal(rest.next().ok_or(GlobError::OpenEnd)?),
                '[' | ']' | '{' | '}' | '(' | ')' => return Err(GlobError::Special(character)),
                '!' if tokens.is_empty() => return Err(GlobError::Special(character)),
                _ if character.is_control() => return Err(GlobError::Control),
                _ => Token::Literal(character),
            });
        }
        Ok(Self { tokens })
    }

    /// Matches exactly this name.
    pub(super) fn exactly(name: &str) -> Self {
        Self { tokens: name.chars().map(Token::Literal).collect() }
    }

    pub(super) fn is_match(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        let (mut at, mut token) = (0, 0);
        // Backtracking point: the last `*`, which then matches one character more.
        let mut retry = None;
        while at < name.len() {
            match self.tokens.get(token) {
                Some(Token::AnyRun) => {
                    retry = Some((at, token));
                    token += 1;
                }
                Some(Token::AnyOne) => (at, token) = (at + 1, token + 1),
                Some(Token::Literal(wanted)) if *wanted == name[at] => (at, token) = (at + 1, token + 1),
                _ => {
                    let Some((from, star)) = retry else { return false };
                    retry = Some((from + 1, star));
                    (at, token) = (from + 1, star + 1);
                }
            }
        }
        self.tokens[token..].iter().all(|token| *token == Token::AnyRun)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn is_match(pattern: &str, name: &str) -> bool {
        Glob::parse(pattern).unwrap().is_match(name)
    }

    #[test]
    fn wildcards_stand_for_characters_and_not_for_bytes() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("?", "ä", true),
            ("?", "🌍", true),
            ("??", "ä", false),
            ("get_*", "get_", true),
            ("get_*", "Get_x", false),
            ("*_x", "get/a_x", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-b-b-d", false),
            (r"\*", "*", true),
            (r"\*", "x", false),
            (r"a\[1\]", "a[1]", true),
        ] {
            assert_eq!(is_match(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn unsupported_syntax_is_rejected() {
        for pattern in ["get_[ab]", "{a,b}", "a(b)", "!a", "a\\", "a\u{7}", &"a".repeat(600)] {
            assert!(Glob::parse(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn many_stars_match_quickly() {
        let pattern = "a*".repeat(250);
        assert!(!is_match(&pattern, &format!("{}b", "a".repeat(2_000))) || pattern.ends_with('*'));
        assert!(!is_match(&format!("{pattern}c"), &"a".repeat(5_000)));
    }

    proptest! {
        #[test]
        fn agrees_with_globset_where_both_mean_the_same(pattern in "[ab*?]{0,8}", name in "[ab]{0,8}") {
            // `**` between separators means something of its own there; without separators it is `*`.
            prop_assume!(!pattern.contains("**") && !pattern.is_empty());
            let theirs = globset::GlobBuilder::new(&pattern).build().unwrap().compile_matcher();
            prop_assert_eq!(is_match(&pattern, &name), theirs.is_match(&name));
        }
    }
}
