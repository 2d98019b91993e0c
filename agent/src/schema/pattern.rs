//! Regular expressions for which a provider rejects the whole request.

use serde_json::json;

use super::Provider;

/// Why a provider rejects a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PatternError {
    /// It is invalid.
    Invalid,
    /// It is valid in ECMA-262 and not supported by OpenAI.
    Unsupported,
}

impl PatternError {
    /// Checks a pattern for a provider.
    pub(super) fn find(provider: Provider, pattern: &str) -> Option<Self> {
        let openai = matches!(provider, Provider::OpenAi | Provider::OpenAiChat);
        if !is_valid(pattern) {
            Some(Self::Invalid)
        } else if openai && !is_supported_by_openai(pattern) {
            Some(Self::Unsupported)
        } else {
            None
        }
    }

    pub(super) fn why(self) -> &'static str {
        match self {
            Self::Invalid => "invalid regular expression",
            Self::Unsupported => "OpenAI supports neither look-around nor syntax unknown to Python's `re`",
        }
    }
}

/// Whether the pattern is valid. Compiling every pattern would take longer than the rest of a conversion, so simple ones are
/// not compiled.
fn is_valid(pattern: &str) -> bool {
    let plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '^' | '$' | '-' | '_' | ' ' | '/' | ':');
    pattern.chars().all(plain) || jsonschema::validator_for(&json!({ "pattern": pattern })).is_ok()
}

/// Whether an ECMA-262 pattern has the same meaning in Python's `re` and has no look-around or back-reference. OpenAI checks
/// all patterns with Python ("is not a 'regex'"), and newer models reject look-around in any mode ("regex lookaround is not
/// supported"). Returns false in doubt.
fn is_supported_by_openai(pattern: &str) -> bool {
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

/// Reads the character after a backslash.
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

/// Reads a character class to its end.
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

    /// Compared with Python 3.11: `re.compile` accepts the first list, and rejects or misreads those of the second list
    /// without look-around.
    #[test]
    fn openai_accepts_patterns_that_python_reads_without_look_around() {
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
        assert_eq!(PatternError::find(Provider::Gemini, "("), Some(PatternError::Invalid));
    }
}
