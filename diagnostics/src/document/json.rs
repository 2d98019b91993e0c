//! JSON with comments and trailing commas, and with no other extension of RFC 8259.

use std::ops::Range;

use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{ObjectProp, ObjectPropName, Value},
    common::Ranged as _,
    errors::ParseErrorKind,
    parse_to_ast,
};

use super::{Builder, Content, Keys, NodeId, ParseError, Source, out_of_range, reject_control_characters};

/// The extensions of RFC 8259 that are allowed.
#[must_use]
pub fn options() -> ParseOptions {
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

pub(super) fn parse(source: &Source, builder: &mut Builder) -> Result<Option<NodeId>, ParseError> {
    // RFC 8259, 7.
    reject_control_characters(source.text(), |ch| ch < ' ')?;
    let parsed = parse_to_ast(source.text(), &CollectOptions::default(), &options());
    let parsed = parsed.map_err(|error| syntax_error(builder, error.range().start..error.range().end, error.kind()))?;
    parsed.value.map(|value| node(value, source, builder, 1)).transpose()
}

fn syntax_error(builder: &Builder, span: Range<usize>, kind: &ParseErrorKind) -> ParseError {
    let text = kind.to_string();
    if text.starts_with("Maximum nesting depth") {
        return builder.too_deep(span);
    }
    let mut chars = text.chars();
    let message: String = chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default();
    ParseError::new(span, format!("not JSON: {message}")).with_optional_help(help(kind))
}

fn help(kind: &ParseErrorKind) -> Option<&'static str> {
    match kind {
        ParseErrorKind::ExpectedComma => Some("is a comma missing here?"),
        ParseErrorKind::ExpectedColonAfterObjectKey => Some("a key is followed by `:` and its value"),
        ParseErrorKind::UnterminatedObject => Some("is a `}` missing?"),
        ParseErrorKind::UnterminatedArray => Some("is a `]` missing?"),
        ParseErrorKind::SingleQuotedStringsNotAllowed => Some("use double quotes"),
        ParseErrorKind::UnexpectedWord | ParseErrorKind::ExpectedStringObjectProperty => {
            Some("is a quotation mark missing?")
        }
        ParseErrorKind::MultipleRootJsonValues => Some("a file contains one value"),
        ParseErrorKind::String(_) => Some("is a quotation mark or a `\\` missing?"),
        _ => None,
    }
}

// The parser limits the depth of its result to 512, so this recursion is limited as well.
fn node(value: Value<'_>, source: &Source, builder: &mut Builder, depth: usize) -> Result<NodeId, ParseError> {
    let range = value.range();
    let span = range.start..range.end;
    let id = builder.add(span.clone(), Content::Null, depth)?;
    let content = match value {
        Value::StringLit(text) => Content::String(text.value.into_owned()),
        Value::NumberLit(number) => {
            if !number.value.parse::<f64>().is_ok_and(f64::is_finite) {
                return Err(out_of_range(span));
            }
            Content::Number(number.value.to_owned())
        }
        Value::BooleanLit(boolean) => Content::Bool(boolean.value),
        Value::NullKeyword(_) => Content::Null,
        Value::Array(array) => {
            let items = array.elements.into_iter().map(|item| node(item, source, builder, depth + 1));
            Content::Array(items.collect::<Result<_, _>>()?)
        }
        Value::Object(object) => {
            let mut keys = Keys::default();
            let entries = object.properties.into_iter().map(|property| {
                let entry @ (key, _) = entry(property, source, builder, depth + 1)?;
                let Content::String(name) = &builder.nodes[key.0].content else { return Ok(entry) };
                keys.add(name, &builder.nodes[key.0].span, source)?;
                Ok(entry)
            });
            Content::Table(entries.collect::<Result<_, _>>()?)
        }
    };
    builder.nodes[id.0].content = content;
    Ok(id)
}

fn entry(
    property: ObjectProp<'_>,
    source: &Source,
    builder: &mut Builder,
    depth: usize,
) -> Result<(NodeId, NodeId), ParseError> {
    let range = match &property.name {
        ObjectPropName::String(text) => text.range,
        ObjectPropName::Word(word) => word.range,
    };
    let key = builder.add(range.start..range.end, Content::String(property.name.into_string()), depth)?;
    Ok((key, node(property.value, source, builder, depth)?))
}
