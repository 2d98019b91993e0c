//! `${NAME}` and `${NAME:-default}`: a pure function over a lookup of variables.
//!
//! Values are not expanded again, so a value cannot refer to another variable. `$NAME` is not a reference. A variable that is
//! not set and has no default is an error, because an incomplete URL or header would reach an unintended server.

use std::ops::Range;

/// Maximum length of an expanded text, in bytes. A short text can refer to a long value many times.
const MAX_BYTES: usize = 1024 * 1024;

/// Reasons why a text cannot be expanded. The ranges are bytes of the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpandError {
    /// The variable is not set and has no default.
    #[error("the environment variable `{name}` is not set")]
    Unset {
        /// The variable.
        name: String,
        /// The whole reference.
        range: Range<usize>,
    },
    /// The text between the braces is not the name of a variable.
    #[error("`${{{name}}}` does not name a variable")]
    InvalidName {
        /// The text between the braces.
        name: String,
        /// The whole reference.
        range: Range<usize>,
    },
    /// The closing brace is missing.
    #[error("`${{` without a closing brace")]
    Unclosed {
        /// From the `$` to the end.
        range: Range<usize>,
    },
    /// The expanded text is too long.
    #[error("the value is longer than {MAX_BYTES} bytes after expansion")]
    TooLong {
        /// The reference that exceeds the limit.
        range: Range<usize>,
    },
}

impl ExpandError {
    /// The part of the text with the error, in bytes.
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        match self {
            Self::Unset { range, .. }
            | Self::InvalidName { range, .. }
            | Self::Unclosed { range }
            | Self::TooLong { range } => range.clone(),
        }
    }

    /// How to fix the error.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::Unset { name, .. } => format!("set it, or write a default, as in `${{{name}:-…}}`"),
            Self::InvalidName { name, .. } => {
                match name.rsplit(':').next().filter(|last| is_name(last) && *last != name) {
                    Some(last) => format!("did you mean `${{{last}}}`?"),
                    None => "a name consists of letters, digits and `_`, and does not start with a digit".to_owned(),
                }
            }
            Self::Unclosed { .. } => "add a `}`".to_owned(),
            Self::TooLong { .. } => "check the values of its variables".to_owned(),
        }
    }
}

/// A part of a text.
enum Part<'t> {
    Plain(&'t str),
    Reference { range: Range<usize>, name: &'t str, default: Option<&'t str> },
}

/// Replaces each reference by the value that `lookup` returns.
///
/// # Errors
/// If a variable is not set and has no default, a reference is malformed, or the result is too long.
pub fn expand(text: &str, lookup: impl Fn(&str) -> Option<String>) -> Result<String, ExpandError> {
    let mut out = String::with_capacity(text.len());
    for part in parts(text) {
        match part? {
            Part::Plain(plain) => out.push_str(plain),
            Part::Reference { range, name, default } => {
                let value = lookup(name).or_else(|| default.map(str::to_owned));
                let value = value.ok_or_else(|| ExpandError::Unset { name: name.to_owned(), range: range.clone() })?;
                if out.len() + value.len() > MAX_BYTES {
                    return Err(ExpandError::TooLong { range });
                }
                out.push_str(&value);
            }
        }
    }
    Ok(out)
}

/// Returns the parts of the text that name variables: `${NAME}`, and `${NAME:-default}` without the default. They may be
/// printed if the rest is secret.
pub(super) fn names(text: &str) -> Vec<Range<usize>> {
    let mut names = Vec::new();
    for part in parts(text).flatten() {
        if let Part::Reference { range, default, .. } = part {
            match default {
                Some(default) => {
                    names.push(range.start..range.end - 1 - default.len());
                    names.push(range.end - 1..range.end);
                }
                None => names.push(range),
            }
        }
    }
    names
}

fn parts(text: &str) -> impl Iterator<Item = Result<Part<'_>, ExpandError>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
        if !rest.starts_with("${") {
            let end = rest.find("${").map_or(text.len(), |plain| at + plain);
            return Some(Ok(Part::Plain(&text[std::mem::replace(&mut at, end)..end])));
        }
        let Some(length) = rest.find('}').map(|brace| brace + 1) else {
            return Some(Err(ExpandError::Unclosed { range: std::mem::replace(&mut at, text.len())..text.len() }));
        };
        let range = at..at + length;
        at = range.end;
        let inside = &text[range.start + 2..range.end - 1];
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        if !is_name(name) {
            return Some(Err(ExpandError::InvalidName { name: name.to_owned(), range }));
        }
        Some(Ok(Part::Reference { range, name, default }))
    })
}

/// Whether the text can be the name of a variable (POSIX, Base Definitions, section 8.1).
pub(super) fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && chars.all(|ch| ch.is_ascii_alphanumeric() || ch == '_')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lookup(name: &str) -> Option<String> {
        match name {
            "HOME" => Some("/home/a".to_owned()),
            "EMPTY" => Some(String::new()),
            "SNEAKY" => Some("${HOME}".to_owned()),
            "BIG" => Some("x".repeat(MAX_BYTES / 2)),
            _ => None,
        }
    }

    #[test]
    fn variables_and_defaults_are_expanded() {
        for (text, expanded) in [
            ("${HOME}/x", "/home/a/x"),
            ("${NOT_SET:-y}${HOME:-z}", "y/home/a"),
            ("${NOT_SET:-}", ""),
            // An empty variable is set.
            ("a${EMPTY:-d}b", "ab"),
            ("$HOME $$ $", "$HOME $$ $"),
            ("${NOT_SET:-http://h:1/${}", "http://h:1/${"),
            // Values are not expanded again.
            ("${SNEAKY}", "${HOME}"),
            ("ü${HOME}ü", "ü/home/aü"),
        ] {
            assert_eq!(expand(text, lookup).as_deref(), Ok(expanded), "{text}");
        }
    }

    #[test]
    fn errors_have_a_range_and_help() {
        for (text, message, range, help) in [
            (
                "a${GONE}",
                "the environment variable `GONE` is not set",
                1..8,
                "set it, or write a default, as in `${GONE:-…}`",
            ),
            (
                "${}",
                "`${}` does not name a variable",
                0..3,
                "a name consists of letters, digits and `_`, and does not start with a digit",
            ),
            ("${env:HOME}", "`${env:HOME}` does not name a variable", 0..11, "did you mean `${HOME}`?"),
            ("x${HOME", "`${` without a closing brace", 1..7, "add a `}`"),
            (
                "${BIG}${BIG}x${BIG}",
                "the value is longer than 1048576 bytes after expansion",
                13..19,
                "check the values of its variables",
            ),
        ] {
            let error = expand(text, lookup).expect_err(text);
            assert_eq!((error.to_string().as_str(), error.range()), (message, range), "{text}");
            assert_eq!(error.advice(), help);
        }
    }

    #[test]
    fn names_are_separate_from_defaults() {
        let text = "Bearer ${TOKEN:-hunter2} ${OTHER}";
        let shown: Vec<&str> = names(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(shown, ["${TOKEN:-", "}", "${OTHER}"]);
    }

    proptest! {
        #[test]
        fn a_text_without_a_dollar_is_unchanged(text in "[^$]*") {
            prop_assert_eq!(expand(&text, |_| Some("no".to_owned())), Ok(text));
        }

        #[test]
        fn arbitrary_text_is_expanded_or_rejected(text in "(\\$|\\{|\\}|:|-|[a-zA-Z_0-9]|\\PC)*") {
            match expand(&text, |_| Some("v".to_owned())) {
                Ok(_) => {}
                Err(error) => {
                    let begins = text.get(error.range()).is_some_and(|part| part.starts_with("${"));
                    prop_assert!(begins, "{text:?}");
                }
            }
            for range in names(&text) {
                prop_assert!(text.get(range).is_some());
            }
        }

        #[test]
        fn values_are_inserted_unchanged(before in "[^$]*", value in ".*", after in "[^$]*") {
            let expanded = expand(&format!("{before}${{A}}{after}"), |_| Some(value.clone()));
            prop_assert_eq!(expanded, Ok(format!("{before}{value}{after}")));
        }
    }
}
