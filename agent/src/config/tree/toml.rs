//! TOML.

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{Builder, Data, Entry, Node};
use crate::config::Diagnostic;

pub(super) fn read(text: &str, builder: &mut Builder<'_>) -> Result<Node, Diagnostic> {
    let table = DeTable::parse(text).map_err(|error| {
        let message = error.message().lines().collect::<Vec<_>>().join(", ");
        let twice = message.contains("duplicate key");
        let message = if twice { "the key is given twice".to_owned() } else { format!("not TOML: {message}") };
        let problem = builder.error(&error.span().unwrap_or_default(), message);
        if twice { problem.with_help("keep one of them") } else { problem }
    })?;
    let span = table.span();
    builder.enter(&span, 1)?;
    Ok(Node { span, data: self::table(table.into_inner(), builder, 1)? })
}

fn table(table: DeTable<'_>, builder: &mut Builder<'_>, depth: usize) -> Result<Data, Diagnostic> {
    let mut entries = Vec::with_capacity(table.len());
    for (key, value) in table {
        let key_span = key.span();
        entries.push(Entry { value: node(value, builder, depth + 1)?, key_span, key: key.into_inner().into_owned() });
    }
    // The parser has them in the order of the alphabet.
    entries.sort_by_key(|entry| entry.key_span.start);
    Ok(Data::Table(entries))
}

fn node(value: Spanned<DeValue<'_>>, builder: &mut Builder<'_>, depth: usize) -> Result<Node, Diagnostic> {
    let span = value.span();
    builder.enter(&span, depth)?;
    let number = |number: Option<f64>| {
        number.map(Data::Number).ok_or_else(|| builder.error(&span, "not a number that can be held"))
    };
    let data = match value.into_inner() {
        DeValue::String(text) => Data::Text(text.into_owned()),
        DeValue::Integer(integer) => number(i64::from_str_radix(integer.as_str(), integer.radix()).ok().map(as_float))?,
        DeValue::Float(float) => number(float.as_str().parse().ok())?,
        DeValue::Boolean(boolean) => Data::Bool(boolean),
        DeValue::Datetime(_) => Data::Date,
        DeValue::Array(array) => {
            let items = array.into_iter().map(|item| node(item, builder, depth + 1));
            Data::List(items.collect::<Result<_, _>>()?)
        }
        DeValue::Table(inner) => table(inner, builder, depth)?,
    };
    Ok(Node { span, data })
}

/// Numbers of a configuration are ports and durations: what a float cannot hold is refused where it is read.
#[expect(clippy::cast_precision_loss, reason = "no setting takes a number as large as that")]
fn as_float(integer: i64) -> f64 {
    integer as f64
}
