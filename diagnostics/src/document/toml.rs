//! TOML 1.1.

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{Builder, Content, NodeId, ParseError, Source, out_of_range};

pub(super) fn parse(source: &Source, builder: &mut Builder) -> Result<NodeId, ParseError> {
    let table = DeTable::parse(source.text()).map_err(|error| {
        let message = error.message().lines().collect::<Vec<_>>().join(", ");
        let span = error.span().unwrap_or_default();
        if message.contains("duplicate key") {
            return ParseError::new(span, "duplicate key").with_help("keep one of them");
        }
        ParseError::new(span, format!("not TOML: {message}"))
    })?;
    let id = builder.add(table.span(), Content::Null, 1)?;
    builder.nodes[id.0].content = self::table(table.into_inner(), builder, 1)?;
    Ok(id)
}

fn table(table: DeTable<'_>, builder: &mut Builder, depth: usize) -> Result<Content, ParseError> {
    let mut entries = Vec::with_capacity(table.len());
    for (key, value) in table {
        let span = key.span();
        let key = builder.add(span.clone(), Content::String(key.into_inner().into_owned()), depth + 1)?;
        entries.push((span.start, (key, node(value, builder, depth + 1)?)));
    }
    // The parser sorts keys alphabetically.
    entries.sort_by_key(|(start, _)| *start);
    Ok(Content::Table(entries.into_iter().map(|(_, entry)| entry).collect()))
}

fn node(value: Spanned<DeValue<'_>>, builder: &mut Builder, depth: usize) -> Result<NodeId, ParseError> {
    let span = value.span();
    let id = builder.add(span.clone(), Content::Null, depth)?;
    let content = match value.into_inner() {
        DeValue::String(text) => Content::String(text.into_owned()),
        DeValue::Integer(integer) => {
            let number = i64::from_str_radix(integer.as_str(), integer.radix());
            Content::Number(number.map_err(|_| out_of_range(span))?.to_string())
        }
        // Not necessarily finite, which is an error of its reader.
        DeValue::Float(float) => Content::Number(float.as_str().to_owned()),
        DeValue::Boolean(boolean) => Content::Bool(boolean),
        DeValue::Datetime(_) => Content::Date,
        DeValue::Array(array) => {
            let items = array.into_iter().map(|item| node(item, builder, depth + 1));
            Content::Array(items.collect::<Result<_, _>>()?)
        }
        DeValue::Table(inner) => table(inner, builder, depth)?,
    };
    builder.nodes[id.0].content = content;
    Ok(id)
}
