//! Patterns of names: `*` is any run of characters, `?` is any one of them, `\` takes the meaning from the next.
//!
//! globset is not used here because its `?` and its classes are about bytes, and names are not all ASCII; a test holds both
//! to the same answers where they mean the same. Its other signs are refused rather than taken for themselves.

/// The longest pattern, in characters: matching takes time in proportion to the pattern and to the name.
const MAX_LEN: usize = 512;

/// A pattern of names, in which upper and lower case differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Glob {
    signs: Vec<Sign>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    One(char),
    AnyOne,
    AnyRun,
}

/// Why a pattern means nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GlobError {
    /// A sign that has a meaning elsewhere and none here.
    #[error("`{0}` has no meaning in a rule; a name that holds it is written with `\\{0}`")]
    Sign(char),
    /// Nothing follows the last `\`.
    #[error("nothing follows the `\\` at the end; the character itself is written `\\\\`")]
    OpenEnd,
    /// Longer than any name it could be for.
    #[error("it is longer than {MAX_LEN} characters; `*` stands for any run of characters")]
    TooLong,
    /// A character that cannot be seen.
    #[error("it holds a control character; `?` stands for any one character")]
    Control,
}

impl Glob {
    pub(super) fn parse(text: &str) -> Result<Self, GlobError> {
        if text.chars().count() > MAX_LEN {
            return Err(GlobError::TooLong);
        }
        let (mut signs, mut rest) = (Vec::new(), text.chars());
        while let Some(character) = rest.next() {
            signs.push(match character {
                // Several in a row mean what one means.
                '*' if signs.last() == Some(&Sign::AnyRun) => continue,
                '*' => Sign::AnyRun,
                '?' => Sign::AnyOne,
                '\\' => Sign::One(rest.next().ok_or(GlobError::OpenEnd)?),
                '[' | ']' | '{' | '}' | '(' | ')' => return Err(GlobError::Sign(character)),
                '!' if signs.is_empty() => return Err(GlobError::Sign(character)),
                _ if character.is_control() => return Err(GlobError::Control),
                _ => Sign::One(character),
            });
        }
        Ok(Self { signs })
    }

    /// This name and no other.
    pub(super) fn exactly(name: &str) -> Self {
        Self { signs: name.chars().map(Sign::One).collect() }
    }

    pub(super) fn is_match(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        let (mut at, mut sign) = (0, 0);
        // Where to go on if the rest does not fit: after the last `*`, which then takes one character more.
        let mut retry = None;
        while at < name.len() {
            match self.signs.get(sign) {
                Some(Sign::AnyRun) => {
                    retry = Some((at, sign));
                    sign += 1;
                }
                Some(Sign::AnyOne) => (at, sign) = (at + 1, sign + 1),
                Some(Sign::One(wanted)) if *wanted == name[at] => (at, sign) = (at + 1, sign + 1),
                _ => {
                    let Some((from, star)) = retry else { return false };
                    retry = Some((from + 1, star));
                    (at, sign) = (from + 1, star + 1);
                }
            }
        }
        self.signs[sign..].iter().all(|sign| *sign == Sign::AnyRun)
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
    fn what_means_something_elsewhere_is_refused() {
        for pattern in ["get_[ab]", "{a,b}", "a(b)", "!a", "a\\", "a\u{7}", &"a".repeat(600)] {
            assert!(Glob::parse(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn many_stars_take_no_time() {
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
