//! `${NAME}` and `${NAME:-default}`: a pure function over a lookup of variables.
//!
//! What a variable holds is never read again, so a value cannot bring in another one. `$NAME` stays as it is. A variable
//! that is not set, without a default, is an error: a URL or a header with a hole in it goes somewhere, and nobody knows
//! where.

use std::ops::Range;

/// The longest text that an expansion may become, in bytes. One reference is short and what it stands for is not.
const MAX_BYTES: usize = 1024 * 1024;

/// Why a text cannot be expanded. The ranges are bytes of the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpandError {
    /// The variable is not set, and there is no default.
    #[error("the environment variable `{name}` is not set")]
    Unset {
        /// The variable.
        name: String,
        /// The whole reference.
        range: Range<usize>,
    },
    /// What stands between the braces is no name.
    #[error("`${{{name}}}` names no variable")]
    NoName {
        /// What stands there.
        name: String,
        /// The whole reference.
        range: Range<usize>,
    },
    /// The brace is never closed.
    #[error("`${{` is never closed")]
    Open {
        /// From the `$` to the end.
        range: Range<usize>,
    },
    /// The outcome is too long.
    #[error("it becomes longer than {MAX_BYTES} bytes")]
    TooLong {
        /// The reference with which it does.
        range: Range<usize>,
    },
}

impl ExpandError {
    /// The part of the text that it is about, in bytes.
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        match self {
            Self::Unset { range, .. } | Self::NoName { range, .. } | Self::Open { range } | Self::TooLong { range } => {
                range.clone()
            }
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::Unset { name, .. } => format!("set it, or give a default: `${{{name}:-…}}`"),
            Self::NoName { name, .. } => match name.rsplit(':').next().filter(|last| is_name(last) && *last != name) {
                Some(last) => format!("did you mean `${{{last}}}`?"),
                None => "a name has letters, digits and `_`, and begins with no digit".to_owned(),
            },
            Self::Open { .. } => "a `}` is missing".to_owned(),
            Self::TooLong { .. } => "what is it that the variable holds?".to_owned(),
        }
    }
}

/// A part of a text.
enum Part<'t> {
    Plain(&'t str),
    Reference { range: Range<usize>, name: &'t str, default: Option<&'t str> },
}

/// The text with each reference replaced by what `lookup` says of it.
///
/// # Errors
/// When a variable is not set and has no default, a reference is malformed, or the outcome is too long.
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

/// The parts of the text that say which variable is meant, and not what it holds: all of `${NAME}`, and of
/// `${NAME:-default}` what is around the default. They may be shown where the rest is secret.
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
            return Some(Err(ExpandError::Open { range: std::mem::replace(&mut at, text.len())..text.len() }));
        };
        let range = at..at + length;
        at = range.end;
        let inside = &text[range.start + 2..range.end - 1];
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        if !is_name(name) {
            return Some(Err(ExpandError::NoName { name: name.to_owned(), range }));
        }
        Some(Ok(Part::Reference { range, name, default }))
    })
}

/// Whether it can be the name of a variable (POSIX, Base Definitions, section 8.1).
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
    fn variables_and_defaults_are_put_in() {
        for (text, expanded) in [
            ("${HOME}/x", "/home/a/x"),
            ("${NOT_SET:-y}${HOME:-z}", "y/home/a"),
            ("${NOT_SET:-}", ""),
            // Set to nothing is set.
            ("a${EMPTY:-d}b", "ab"),
            ("$HOME $$ $", "$HOME $$ $"),
            ("${NOT_SET:-http://h:1/${}", "http://h:1/${"),
            // What a variable holds is not read again.
            ("${SNEAKY}", "${HOME}"),
            ("ü${HOME}ü", "ü/home/aü"),
        ] {
            assert_eq!(expand(text, lookup).as_deref(), Ok(expanded), "{text}");
        }
    }

    #[test]
    fn what_has_no_value_is_told_with_its_place_and_advice() {
        for (text, message, range, advice) in [
            ("a${GONE}", "the environment variable `GONE` is not set", 1..8, "set it, or give a default: `${GONE:-…}`"),
            ("${}", "`${}` names no variable", 0..3, "a name has letters, digits and `_`, and begins with no digit"),
            ("${env:HOME}", "`${env:HOME}` names no variable", 0..11, "did you mean `${HOME}`?"),
            ("x${HOME", "`${` is never closed", 1..7, "a `}` is missing"),
            (
                "${BIG}${BIG}x${BIG}",
                "it becomes longer than 1048576 bytes",
                13..19,
                "what is it that the variable holds?",
            ),
        ] {
            let error = expand(text, lookup).expect_err(text);
            assert_eq!((error.to_string().as_str(), error.range()), (message, range), "{text}");
            assert_eq!(error.advice(), advice);
        }
    }

    #[test]
    fn the_names_are_apart_from_what_they_stand_for() {
        let text = "Bearer ${TOKEN:-hunter2} ${OTHER}";
        let shown: Vec<&str> = names(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(shown, ["${TOKEN:-", "}", "${OTHER}"]);
    }

    proptest! {
        #[test]
        fn a_text_without_a_dollar_stays_as_it_is(text in "[^$]*") {
            prop_assert_eq!(expand(&text, |_| Some("no".to_owned())), Ok(text));
        }

        #[test]
        fn no_text_is_too_odd(text in "(\\$|\\{|\\}|:|-|[a-zA-Z_0-9]|\\PC)*") {
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
        fn what_a_variable_holds_is_put_in_word_for_word(before in "[^$]*", value in ".*", after in "[^$]*") {
            let expanded = expand(&format!("{before}${{A}}{after}"), |_| Some(value.clone()));
            prop_assert_eq!(expanded, Ok(format!("{before}{value}{after}")));
        }
    }
}
