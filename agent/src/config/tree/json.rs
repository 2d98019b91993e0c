//! JSON, with comments and trailing commas, which people write and editors leave, and with nothing else beyond RFC 8259.

use std::ops::Range;

use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{ObjectProp, ObjectPropName, Value},
    common::Ranged as _,
    errors::ParseErrorKind,
    parse_to_ast,
};

use super::{Builder, Data, Entry, Node};
use crate::config::Diagnostic;

/// What is let through beyond RFC 8259.
pub(in crate::config) fn options() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

pub(super) fn read(text: &str, builder: &mut Builder<'_>) -> Result<Node, Diagnostic> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options()).map_err(|error| {
        let range = error.range();
        let problem = builder.error(&(range.start..range.end), format!("not JSON: {}", message(error.kind())));
        match advice(error.kind()) {
            Some(advice) => problem.with_help(advice),
            None => problem,
        }
    })?;
    match parsed.value {
        Some(value) => node(value, builder, 1),
        None => Err(builder.error(&(0..0), "the file is empty").with_help("`{}` is the least that it can hold")),
    }
}

/// The parser's words, in the form of the house.
fn message(kind: &ParseErrorKind) -> String {
    let text = kind.to_string();
    let mut chars = text.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

fn advice(kind: &ParseErrorKind) -> Option<&'static str> {
    match kind {
        ParseErrorKind::ExpectedComma => Some("is a comma missing here?"),
        ParseErrorKind::ExpectedColonAfterObjectKey => Some("a key is followed by `:` and its value"),
        ParseErrorKind::UnterminatedObject => Some("is a `}` missing?"),
        ParseErrorKind::UnterminatedArray => Some("is a `]` missing?"),
        ParseErrorKind::SingleQuotedStringsNotAllowed => Some("texts stand between `\"`"),
        ParseErrorKind::UnexpectedWord | ParseErrorKind::ExpectedStringObjectProperty => {
            Some("is a quotation mark missing?")
        }
        ParseErrorKind::MultipleRootJsonValues => Some("a file holds one value"),
        ParseErrorKind::String(_) => Some("is a quotation mark or a `\\` missing?"),
        _ => None,
    }
}

fn node(value: Value<'_>, builder: &mut Builder<'_>, depth: usize) -> Result<Node, Diagnostic> {
    let range = value.range();
    let span = range.start..range.end;
    builder.enter(&span, depth)?;
    let data = match value {
        Value::StringLit(text) => Data::Text(text.value.into_owned()),
        Value::NumberLit(number) => Data::Number(self::number(number.value, &span, builder)?),
        Value::BooleanLit(boolean) => Data::Bool(boolean.value),
        Value::NullKeyword(_) => Data::Null,
        Value::Array(array) => {
            let items = array.elements.into_iter().map(|item| node(item, builder, depth + 1));
            Data::List(items.collect::<Result<_, _>>()?)
        }
        Value::Object(object) => {
            let entries = object.properties.into_iter().map(|property| entry(property, builder, depth + 1));
            let entries = entries.collect::<Result<_, _>>()?;
            builder.table(entries)?
        }
    };
    Ok(Node { span, data })
}

fn number(text: &str, span: &Range<usize>, builder: &Builder<'_>) -> Result<f64, Diagnostic> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| builder.error(span, "not a number that can be held"))
}

fn entry(property: ObjectProp<'_>, builder: &mut Builder<'_>, depth: usize) -> Result<Entry, Diagnostic> {
    let range = match &property.name {
        ObjectPropName::String(text) => text.range,
        ObjectPropName::Word(word) => word.range,
    };
    Ok(Entry {
        key_span: range.start..range.end,
        value: node(property.value, builder, depth)?,
        key: property.name.into_string(),
    })
}
