//! Errors of the deserializer, and the diagnostics that they become.

use std::{fmt, ops::Range};

use serde::de;

use super::{Content, Document, NodeId, Syntax};
use crate::{Diagnostic, nearest};

/// An entry of a table or an element of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) parent: NodeId,
    pub(super) index: usize,
}

/// An error that knows where in the tree it occurred. Boxed, because it is returned by every call.
#[derive(Debug)]
pub(super) struct ReadError(pub(super) Box<Inner>);

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) cause: Cause,
    /// The innermost value, or the key in a table.
    pub(super) at: Option<NodeId>,
    /// The innermost key of its path, and the value of the key.
    pub(super) name: Option<(NodeId, NodeId)>,
    /// The slots of that value, from the inside out.
    pub(super) path: Vec<Slot>,
}

#[derive(Debug)]
pub(super) enum Cause {
    UnknownKey(String, &'static [&'static str]),
    UnknownValue(String, &'static [&'static str]),
    MissingKey(&'static str),
    /// The value has another type than this.
    Expected(&'static str),
    /// A value of an enum that needs more; the text is what to write behind it.
    NeedsValue(&'static str),
    TakesNoValue(String),
    SecondKey,
    Message(String),
}

impl ReadError {
    pub(super) fn new(cause: Cause) -> Self {
        Self(Box::new(Inner { cause, at: None, name: None, path: Vec::new() }))
    }

    /// Sets the position unless a value further inside has set it.
    pub(super) fn at(mut self, node: NodeId) -> Self {
        self.0.at.get_or_insert(node);
        self
    }

    /// Sets the name unless a value further inside has one.
    pub(super) fn named(mut self, key: NodeId, value: NodeId) -> Self {
        self.0.name.get_or_insert((key, value));
        self
    }

    pub(super) fn within(mut self, slot: Slot) -> Self {
        self.0.path.push(slot);
        self
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0.cause)
    }
}

impl std::error::Error for ReadError {}

impl de::Error for ReadError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(Cause::Message(message.to_string()))
    }

    fn invalid_type(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::new(match found {
            de::Unexpected::UnitVariant => Cause::NeedsValue("..."),
            de::Unexpected::Seq => Cause::Message(format!("expected {expected}, found an array")),
            de::Unexpected::Map => Cause::Message(format!("expected {expected}, found keys and values")),
            de::Unexpected::Unit | de::Unexpected::Option => {
                Cause::Message(format!("expected {expected}, found nothing"))
            }
            _ => Cause::Message(format!("expected {expected}, found {found}")),
        })
    }

    fn invalid_value(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::new(Cause::Message(format!("expected {expected}, found {found}")))
    }

    fn unknown_field(key: &str, valid: &'static [&'static str]) -> Self {
        Self::new(Cause::UnknownKey(key.to_owned(), valid))
    }

    fn unknown_variant(value: &str, valid: &'static [&'static str]) -> Self {
        Self::new(Cause::UnknownValue(value.to_owned(), valid))
    }

    fn missing_field(key: &'static str) -> Self {
        Self::new(Cause::MissingKey(key))
    }
}

/// Creates the diagnostic of an error.
///
/// `first_key` is the first key of the table that the error is about, if it was removed.
pub(super) fn explain(document: &Document, error: &Inner, first_key: Option<NodeId>) -> Diagnostic {
    Scene { document, error, at: error.at.unwrap_or(document.root), first_key }.explain(&error.cause)
}

struct Scene<'a> {
    document: &'a Document,
    error: &'a Inner,
    at: NodeId,
    first_key: Option<NodeId>,
}

impl Scene<'_> {
    fn explain(&self, cause: &Cause) -> Diagnostic {
        match cause {
            Cause::UnknownKey(key, valid) => self.unknown_key(key, valid),
            Cause::UnknownValue(value, valid) => {
                let noun =
                    (self.document.format.noun_of)(valid, self.error.name.map(|(key, _)| self.document.key(key)))
                        .unwrap_or("value");
                self.error(format!("unknown {noun} `{value}`")).with_help(nearest::advice(value, valid.iter().copied()))
            }
            Cause::MissingKey(key) => self.missing_key(key),
            Cause::Expected(expected) => self.expected(expected),
            Cause::NeedsValue(rest) => {
                let value = self.document.key(self.at);
                self.error(format!("`{value}` needs a value")).with_help(format!("write `{value}: {rest}`"))
            }
            Cause::TakesNoValue(value) => {
                self.error(format!("`{value}` takes no value")).with_help(format!("write `{value}` alone"))
            }
            Cause::SecondKey => self.second_key(),
            Cause::Message(text) => self.message(text),
        }
    }

    fn error(&self, message: impl AsRef<str>) -> Diagnostic {
        self.document.source.error(self.span(), message)
    }

    /// The key whose value is this node.
    fn key_of(&self, node: NodeId) -> Option<NodeId> {
        self.error.name.filter(|(_, value)| *value == node).map(|(key, _)| key)
    }

    /// The span of a scalar, otherwise of the key that leads to it, otherwise of its first key.
    fn span(&self) -> &Range<usize> {
        let node = self.document.node(self.at);
        match (&node.content, self.key_of(self.at)) {
            (Content::Array(_) | Content::Table(_), Some(key)) => &self.document.node(key).span,
            (Content::Table(entries), None) => {
                let first = self.first_key.or(entries.first().map(|(key, _)| *key));
                first.map_or(&node.span, |key| &self.document.node(key).span)
            }
            // An omitted value has no location.
            (_, Some(key)) if node.span.is_empty() => &self.document.node(key).span,
            _ => &node.span,
        }
    }

    fn in_key(&self, key: Option<NodeId>) -> String {
        key.map(|key| format!(" in `{}`", self.document.key(key))).unwrap_or_default()
    }

    fn unknown_key(&self, key: &str, valid: &[&str]) -> Diagnostic {
        let table = self.error.path.first().and_then(|slot| self.key_of(slot.parent));
        let help = if key == "<<" {
            "merge keys are not supported; write the keys out".to_owned()
        } else {
            match self.document.format.meant(key, valid) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => nearest::known_names(valid),
            }
        };
        self.error(format!("unknown key `{key}`{}", self.in_key(table))).with_help(help)
    }

    fn missing_key(&self, key: &str) -> Diagnostic {
        let table = self.key_of(self.at);
        let span = table.map_or_else(|| self.span(), |key| &self.document.node(key).span);
        let entry = match self.document.source.syntax() {
            Syntax::Yaml => format!("{key}:"),
            Syntax::Json => format!("\"{key}\":"),
            Syntax::Toml => format!("{key} ="),
        };
        let message = format!("missing key `{key}`{}", self.in_key(table));
        self.document.source.error(span, message).with_help(format!("add `{entry}`"))
    }

    fn expected(&self, expected: &str) -> Diagnostic {
        let text = self.document.written(self.at);
        let table = self.document.source.syntax().table_noun();
        let found = match &self.document.node(self.at).content {
            Content::Array(_) => "an array".to_owned(),
            Content::Table(_) => table.to_owned(),
            Content::Null if text.is_empty() => "nothing".to_owned(),
            _ => format!("`{}`", self.document.key(self.at)),
        };
        let is_scalar = found.starts_with('`');
        let help = match expected {
            "a string" if found == "nothing" => Some("write one, or \"\"".to_owned()),
            "a string" if is_scalar => Some(format!("write \"{text}\"")),
            "an array" if found == "nothing" => Some("write one, or remove the key".to_owned()),
            "an array" if is_scalar => Some(format!("write `[{text}]`")),
            "an array" if self.document.source.syntax() == Syntax::Yaml => {
                Some("start each element with `- `".to_owned())
            }
            "a table" if found == "nothing" => Some("write `{}` if it is empty".to_owned()),
            "a table" => Some(match self.document.source.syntax() {
                Syntax::Yaml => "write `{ key: value }`".to_owned(),
                Syntax::Json => "write `{ \"key\": value }`".to_owned(),
                Syntax::Toml => "write `{ key = value }`".to_owned(),
            }),
            "a boolean" => Some("write `true` or `false`".to_owned()),
            _ if expected.contains("number") => Some("write a number, as in `10`".to_owned()),
            _ => None,
        };
        let expected = if expected == "a table" { table } else { expected };
        let error = self.error(format!("expected {expected}, found {found}"));
        match help {
            Some(help) => error.with_help(help),
            None => error,
        }
    }

    fn second_key(&self) -> Diagnostic {
        let Some(&Slot { parent, .. }) = self.error.path.first() else { return self.error("unexpected key") };
        let first = match &self.document.node(parent).content {
            Content::Table(entries) => entries.first().map_or("", |(key, _)| self.document.key(*key)),
            _ => "",
        };
        let is_element = self.key_of(parent).is_none();
        let help = if is_element && self.document.source.syntax() == Syntax::Yaml {
            format!("indent it further if it belongs to `{first}`; otherwise start a new element with `- `")
        } else {
            "keep one of them".to_owned()
        };
        let second = self.document.key(self.at);
        self.error(format!("unexpected key `{second}` next to `{first}`")).with_help(help)
    }

    /// Formats separate the message from the help with a semicolon.
    fn message(&self, text: &str) -> Diagnostic {
        // humantime lists every unit up to years, which the help makes unnecessary.
        let short = text.split_once(", supported units:").and_then(|(start, rest)| {
            let (_, end) = rest.rsplit_once("; ")?;
            Some(format!("{start}); {end}"))
        });
        match short.as_deref().unwrap_or(text).split_once("; ") {
            Some((message, help)) => self.error(message).with_help(help),
            None => self.error(text),
        }
    }
}
