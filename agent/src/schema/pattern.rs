//! Regular expressions that a provider refuses, and the whole request with them.

use serde_json::json;

use super::Provider;

/// Why a provider refuses a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PatternError {
    /// Nobody can read it.
    Unreadable,
    /// It is one of ECMA-262 that OpenAI does not take.
    Uncommon,
}

impl PatternError {
    /// Why this provider refuses this pattern, if it does.
    pub(super) fn find(provider: Provider, pattern: &str) -> Option<Self> {
        let openai = matches!(provider, Provider::OpenAi | Provider::OpenAiChat);
        if !is_readable(pattern) {
            Some(Self::Unreadable)
        } else if openai && !is_common(pattern) {
            Some(Self::Uncommon)
        } else {
            None
        }
    }

    /// The same in words.
    pub(super) fn why(self) -> &'static str {
        match self {
            Self::Unreadable => "it is no regular expression",
            Self::Uncommon => "OpenAI takes no look-around, and nothing that Python's `re` does not know",
        }
    }
}

/// Whether a validator can read the pattern. The plain ones are told at a glance: compiling them all would cost more than
/// all the rest of a conversion.
fn is_readable(pattern: &str) -> bool {
    let plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '^' | '$' | '-' | '_' | ' ' | '/' | ':');
    pattern.chars().all(plain) || jsonschema::validator_for(&json!({ "pattern": pattern })).is_ok()
}

/// Whether a pattern, which is one of ECMA-262, means the same to Python's `re`, by which OpenAI checks the patterns of all
/// tools ("is not a 'regex'"), and looks neither ahead, behind nor back, which newer models refuse in any mode ("regex lookaround
/// is not supported"). In doubt it does not.
fn is_common(pattern: &str) -> bool {
    let mut letters = pattern.chars().peekable();
    while let Some(letter) = letters.next() {
        let common = match letter {
            '\\' => escape(&mut letters, "dDwWsSbB"),
            '(' if letters.next_if_eq(&'?').is_some() => letters.next_if_eq(&':').is_some(),
            '[' => class(&mut letters),
            _ => true,
        };
        if !common {
            return false;
        }
    }
    true
}

type Letters<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// What follows a backslash.
fn escape(letters: &mut Letters<'_>, classes: &str) -> bool {
    match letters.next() {
        Some('x') => digits(letters, 2),
        Some('u') => digits(letters, 4),
        Some(letter) => !letter.is_ascii_alphanumeric() || "nrtfv".contains(letter) || classes.contains(letter),
        None => false,
    }
}

fn digits(letters: &mut Letters<'_>, count: usize) -> bool {
    (0..count).all(|_| letters.next().is_some_and(|digit| digit.is_ascii_hexdigit()))
}

/// A class, up to its end.
fn class(letters: &mut Letters<'_>) -> bool {
    while let Some(letter) = letters.next() {
        match letter {
            ']' => return true,
            '\\' if !escape(letters, "dDwWsS") => return false,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each was held against Python 3.11: `re.compile` takes the first ones, and refuses or misreads those of the others that
    /// look nowhere.
    #[test]
    fn openai_is_shown_what_python_reads_and_what_looks_nowhere() {
        for pattern in [
            "^[a-z]+$",
            r"^(?:a|b)(c)\d{2,}[^\]\\(?=]*\.\/\-$",
            r"[(?=]",
            r"\\p",
            r"\x41\u0042",
            r"[\u00e4]\b",
            "a{2,3}",
            "[a[b]",
            "ä+",
        ] {
            assert_eq!(PatternError::find(Provider::OpenAi, pattern), None, "{pattern}");
        }
        for pattern in [
            "^(?!no)",
            "a(?=b)",
            "(?<=a)b",
            "(?<!a)b",
            "(?<name>a)",
            r"(a)\1",
            r"(?<n>a)\k<n>",
            r"\p{L}",
            r"[\P{Lu}]",
            r"\u{1F600}",
            r"\cA",
            "a{,3}",
            "[]",
            "[^]",
            r"[\B]",
        ] {
            assert!(PatternError::find(Provider::OpenAiChat, pattern).is_some(), "{pattern}");
        }
        assert_eq!(PatternError::find(Provider::Anthropic, r"^(?!no)\p{L}"), None);
        assert_eq!(PatternError::find(Provider::Gemini, "("), Some(PatternError::Unreadable));
    }
}
