//! Reads text into the shape of a value, and says where and how it departs from it: an unknown key, a wrong type, a
//! word that is none of those allowed. It stops at the first.
//!
//! What the words mean together is looked at by whoever owns the format.

use serde::de::DeserializeOwned;
use serde_saphyr::{Error, MergeKeyPolicy, MessageFormatter as _, NonFiniteFloatPolicy, Options, UserMessageFormatter};

use super::{Diagnostic, Limits, Place, Source, Spot, Tree, nearest};

/// Reads the text of the tree into a value.
pub(super) fn read<T: DeserializeOwned>(tree: &Tree<'_>) -> Result<T, Diagnostic> {
    let options = options(tree.format().limits);
    serde_saphyr::from_str_with_options(tree.source().text, options).map_err(|cause| explain(tree, &cause))
}

fn options(limits: Limits) -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: limits.depth,
            max_nodes: limits.values,
            max_aliases: limits.aliases,
            max_anchors: limits.aliases,
            max_documents: 1,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: limits.replayed },
        // As the JSON Schema has it: a number is no text, and only `true` and `false` are booleans.
        no_schema: true,
        strict_booleans: true,
        merge_keys: MergeKeyPolicy::AsOrdinary,
        non_finite_float_policy: NonFiniteFloatPolicy::Reject,
        reject_unsupported_tags: true,
        with_snippet: false,
    }
}

/// Turns what the reader says into a message for the author of the file.
fn explain(tree: &Tree<'_>, cause: &Error) -> Diagnostic {
    let mut cause = cause.without_snippet();
    while let Error::AliasError { error, .. } = cause {
        cause = error.without_snippet();
    }
    let location = cause.location();
    let (line, column) =
        location.map_or((1, 1), |location| (small(location.line()).max(1), small(location.column()).max(1)));
    let way = tree.way_to(line, column);
    Scene { tree, way: &way, line, column }.explain(cause)
}

/// A number of lines or columns; a file is far too small for it not to fit.
fn small(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Where the reader was when it gave up.
struct Scene<'a> {
    tree: &'a Tree<'a>,
    way: &'a [Spot<'a>],
    line: usize,
    column: usize,
}

impl Scene<'_> {
    fn explain(&self, cause: &Error) -> Diagnostic {
        match cause {
            Error::SerdeUnknownField { field, expected, .. } => self.unknown_key(field, expected),
            Error::SerdeUnknownVariant { variant, expected, .. } => self.unknown_word(variant, expected),
            Error::SerdeMissingField { field, .. } => self.missing_key(field),
            Error::QuotingRequired { value, .. } => self.not_a_text(value),
            Error::InvalidScalar { ty, .. } => self.not_a_number(ty),
            Error::InvalidBooleanStrict { .. } => self.here("not a boolean").advise("write `true` or `false`"),
            Error::Unexpected { expected, .. } => self.unexpected(expected),
            Error::NullIntoString { .. } => self.here("a text is missing here").advise("write one, or \"\""),
            Error::UnexpectedValueForUnitEnumVariant { .. } => self.no_value_belongs(),
            Error::ExpectedMappingEndAfterEnumVariantValue { .. } => self.second_key(),
            Error::UnsupportedTag { tag, .. } => self.here(format!("the YAML tag `{tag}`")).advise("take it away"),
            // A word that stands alone, as the reader of one element or several has it, and as that of any value.
            Error::SerdeInvalidType { unexpected, .. } if unexpected == "unit variant" => self.alone("..."),
            Error::UnexpectedMappingEnd { .. } if self.wants_a_word() => self.alone("..."),
            Error::SerdeInvalidType { unexpected, expected, .. } => {
                self.here(format!("{expected} belongs here, not {unexpected}"))
            }
            Error::SerdeInvalidValue { unexpected, expected, .. } => {
                self.here(format!("{unexpected} is not {expected}"))
            }
            Error::Message { msg, .. } => self.message(msg),
            Error::Budget { .. }
            | Error::AliasReplayLimitExceeded { .. }
            | Error::AliasExpansionLimitExceeded { .. }
            | Error::AliasReplayStackDepthExceeded { .. } => {
                self.here("aliases stand for too much").advise("write it out, or leave it away")
            }
            other => self.here(message_of(other)),
        }
    }

    /// A diagnostic at the innermost thing that begins where the reader stopped.
    fn here(&self, message: impl AsRef<str>) -> Diagnostic {
        Diagnostic::new(self.source().file, message).at(self.place())
    }

    fn source(&self) -> Source<'_> {
        self.tree.source()
    }

    fn spot(&self) -> Spot<'_> {
        self.way[self.way.len() - 1]
    }

    fn place(&self) -> Place {
        let mut places = self.way.iter().rev().flat_map(|spot| [spot.place(), spot.key_place()]);
        places.find(|place| self.stopped_at(place)).unwrap_or_else(|| self.spot().place())
    }

    fn stopped_at(&self, place: &Place) -> bool {
        (place.line, place.column) == (self.line, self.column)
    }

    /// The mapping whose key the reader had last seen.
    fn holder(&self) -> Spot<'_> {
        let child = self.way.iter().rposition(|spot| spot.name().is_some() && self.stopped_at(&spot.key_place()));
        child.filter(|&child| child > 0).map_or_else(|| self.spot(), |child| self.way[child - 1])
    }

    /// The key that leads to where the reader stopped.
    fn key(&self) -> Option<&str> {
        self.way.iter().rev().find_map(|spot| spot.name())
    }

    /// Our own formats separate what is wrong from what to do with a semicolon.
    fn message(&self, text: &str) -> Diagnostic {
        // The library lists every unit that it knows, down to years; the advice says enough.
        let short = text.split_once(", supported units:").and_then(|(start, rest)| {
            let (_, end) = rest.rsplit_once("; ")?;
            Some(format!("{start}); {end}"))
        });
        match short.as_deref().unwrap_or(text).split_once("; ") {
            Some((message, advice)) => self.here(message).advise(advice),
            None => self.here(text),
        }
    }

    fn unknown_key(&self, key: &str, expected: &[&str]) -> Diagnostic {
        let holder = self.way.iter().rev().find(|spot| spot.has(key));
        let place = holder.map_or_else(|| self.place(), |holder| holder.key(key).key_place());
        let of = holder.and_then(|holder| holder.name()).map(|name| format!(" in `{name}`")).unwrap_or_default();
        let advice = if key == "<<" {
            "merge keys are not part of the format; write the keys out".to_owned()
        } else {
            nearest::advice(key, expected.iter().copied())
        };
        Diagnostic::new(self.source().file, format!("unknown key `{key}`{of}")).at(place).advise(advice)
    }

    fn unknown_word(&self, word: &str, expected: &[&str]) -> Diagnostic {
        let named = self.way.iter().rev().find(|spot| spot.name() == Some(word) || spot.text() == Some(word));
        let place = named.map_or_else(
            || self.place(),
            |spot| if spot.name() == Some(word) { spot.key_place() } else { spot.place() },
        );
        let noun = (self.tree.format().name_of_words)(expected, self.key()).unwrap_or("word");
        Diagnostic::new(self.source().file, format!("unknown {noun} `{word}`"))
            .at(place)
            .advise(nearest::advice(word, expected.iter().copied()))
    }

    fn missing_key(&self, key: &str) -> Diagnostic {
        let holder = self.holder();
        let of = holder.name().map(|name| format!(" in `{name}`")).unwrap_or_default();
        let place = if of.is_empty() { holder.first_place() } else { holder.key_place() };
        Diagnostic::new(self.source().file, format!("`{key}` is missing{of}")).at(place).advise(format!("add `{key}:`"))
    }

    fn not_a_text(&self, value: &str) -> Diagnostic {
        self.here(format!("a text belongs here, not `{value}`")).advise(format!("write \"{value}\""))
    }

    fn not_a_number(&self, kind: &str) -> Diagnostic {
        let range = match kind {
            "u8" => "a whole number from 0 to 255",
            "u16" => "a whole number from 0 to 65535",
            "u32" | "u64" | "usize" => "a whole number, 0 or more",
            "i64" => "a whole number",
            _ => "a number",
        };
        let found = self.spot().text().unwrap_or_default();
        self.here(format!("`{found}` is not {range}"))
    }

    fn unexpected(&self, expected: &str) -> Diagnostic {
        let spot = self.spot();
        match (expected, spot.text()) {
            ("sequence start", Some("")) => {
                self.here("a list is missing here").advise("write one, or take the key away")
            }
            ("mapping start", Some("")) => {
                self.here("a mapping is missing here").advise("write `{}` if it is to be empty")
            }
            ("sequence start", Some(text)) => {
                self.here(format!("a list belongs here, not `{text}`")).advise(format!("write `[{text}]`"))
            }
            ("sequence start", None) => self.here("a list belongs here").advise("begin each element with `- `"),
            // The payload of a word that has none: `fault: delay`, `- disconnect`.
            ("string scalar", Some(_)) if self.wants_a_word() => self.alone("..."),
            ("mapping start", Some(_)) if self.wants_a_word() => self.alone("{}"),
            ("mapping start", Some(text)) => {
                self.here(format!("a mapping belongs here, not `{text}`")).advise("write `{ key: value }`")
            }
            ("mapping start", _) => self.here("a mapping belongs here").advise("write `key: value`"),
            ("string scalar", _) => self.here("a text belongs here"),
            (other, _) => self.here(format!("expected {other}")),
        }
    }

    /// The word here has something to go with it, and stands alone.
    fn alone(&self, rest: &str) -> Diagnostic {
        let word = self.spot().text().unwrap_or_default();
        Diagnostic::new(self.source().file, format!("`{word}` has nothing to go with it"))
            .at(self.spot().place())
            .advise(format!("write `{word}: {rest}`"))
    }

    fn no_value_belongs(&self) -> Diagnostic {
        let word = self.key().unwrap_or_default();
        self.here(format!("`{word}` takes no value")).advise(format!("write `{word}` alone"))
    }

    fn second_key(&self) -> Diagnostic {
        let holder = self.holder();
        let second = self.key().unwrap_or_default();
        let first = holder.keys().first().copied().unwrap_or_default();
        let advice = match holder.name() {
            None => format!("indent it further if it belongs into `{first}`, else begin a new element with `- `"),
            Some(_) => "keep one of them".to_owned(),
        };
        self.here(format!("`{second}` stands beside `{first}`, where one key belongs")).advise(advice)
    }

    /// Whether the value is one of several words, of which most have something to go with them.
    fn wants_a_word(&self) -> bool {
        self.key().is_some_and(|key| self.tree.format().words_with_values.contains(&key))
    }
}

/// The reader's own words, for what has none of ours.
fn message_of(cause: &Error) -> String {
    UserMessageFormatter.format_message(cause).into_owned()
}
