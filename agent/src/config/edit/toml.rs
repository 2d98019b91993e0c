//! Edits of TOML on a document with comments and whitespace.

use serde_json::Value as Json;
use toml_edit::{Array, DocumentMut, InlineTable, Item, RawString, Table, TableLike, Value};

use super::{Edit, EditError, NO_ARRAY, NO_LIST, enabled_key, list_edit, permissions_key, servers_key, top_key};
use crate::config::keys::{self, Format, TopKey};

const NO_TABLE: EditError = EditError::Unsupported { reason: "the servers are not in a table" };

pub(super) fn apply(text: &str, edit: &Edit) -> Result<String, EditError> {
    let mut document: DocumentMut = text.parse().map_err(|_| NO_TABLE)?;
    if let Some((key, item, listed)) = list_edit(edit) {
        change_list(&mut document, key, item, listed)?;
    }
    match edit {
        Edit::Add { name, entry, .. } => add(&mut document, name, entry)?,
        Edit::Remove { name } => remove(&mut document, name)?,
        Edit::Enable { name, enabled } => {
            let servers = servers(&mut document)?;
            let server = servers.get_mut(name).and_then(Item::as_table_like_mut).ok_or(NO_TABLE)?;
            set_enabled(server, *enabled);
        }
        Edit::List { .. } | Edit::Plugin { .. } => {}
        Edit::Allow { name, rule } => {
            let server = servers(&mut document)?.get_mut(name).and_then(Item::as_table_like_mut).ok_or(NO_TABLE)?;
            let rules = server.entry(permissions_key(Format::Toml));
            let rules = rules.or_insert_with(|| Item::Value(Value::InlineTable(InlineTable::new())));
            let rules = rules.as_table_like_mut().ok_or(NO_TABLE)?;
            let list = rules.entry("allow").or_insert_with(|| Item::Value(Value::Array(Array::new())));
            list.as_array_mut().ok_or(NO_LIST)?.push(rule.as_str());
        }
    }
    let changed = document.to_string();
    // toml_edit writes line feeds. A file with mixed line ends is not converted.
    let is_crlf = text.contains("\r\n") && !text.replace("\r\n", "").contains('\n');
    Ok(if is_crlf { changed.replace("\r\n", "\n").replace('\n', "\r\n") } else { changed })
}

fn servers(document: &mut DocumentMut) -> Result<&mut dyn TableLike, EditError> {
    servers_item(document).as_table_like_mut().ok_or(NO_TABLE)
}

fn servers_item(document: &mut DocumentMut) -> &mut Item {
    document.entry(servers_key(Format::Toml)).or_insert_with(|| {
        let mut table = Table::new();
        // Omits the header `[mcp_servers]`.
        table.set_implicit(true);
        Item::Table(table)
    })
}

fn add(document: &mut DocumentMut, name: &str, entry: &serde_json::Map<String, Json>) -> Result<(), EditError> {
    let blank = if document.iter().next().is_none() { "" } else { "\n" };
    let servers_item = servers_item(document);
    if let Some(inline) = servers_item.as_inline_table_mut() {
        let fields = fields(entry)?.into_iter().collect();
        insert_inline(inline, name, Value::InlineTable(fields));
        return Ok(());
    }
    let servers = servers_item.as_table_like_mut().ok_or(NO_TABLE)?;
    let fields = fields(entry)?;
    if let Some(existing) = servers.get_mut(name).and_then(Item::as_table_like_mut) {
        // Keeps the comments and the position.
        existing.clear();
        fields.into_iter().for_each(|(key, value)| drop(existing.insert(&key, Item::Value(value))));
        return Ok(());
    }
    let mut table: Table = fields.into_iter().map(|(key, value)| (key, Item::Value(value))).collect();
    table.decor_mut().set_prefix(blank);
    servers.insert(name, Item::Table(table));
    Ok(())
}

/// Converts the fields of an entry of `.mcp.json` to TOML.
fn fields(entry: &serde_json::Map<String, Json>) -> Result<Vec<(String, Value)>, EditError> {
    entry.iter().map(|(key, json)| Ok((toml_name(key), value(json)?))).collect()
}

/// Appends a value and moves the whitespace after the last value behind it.
fn insert_inline(table: &mut InlineTable, name: &str, mut value: Value) {
    let last = table.iter_mut().last().filter(|(key, _)| key.get() != name);
    if let Some((_, last)) = last
        && let Some(space) = last.decor().suffix().and_then(RawString::as_str).filter(|text| text.trim().is_empty())
    {
        value = value.decorated(" ", space);
        last.decor_mut().set_suffix("");
    }
    table.insert(name, value);
}

/// Returns the name in TOML of a key of `.mcp.json`.
fn toml_name(key: &str) -> String {
    let found = keys::find(keys::SERVER, Format::Json, key).and_then(|row| row.name(Format::Toml));
    found.map_or_else(|| key.to_owned(), str::to_owned)
}

fn value(json: &Json) -> Result<Value, EditError> {
    Ok(match json {
        Json::Null => return Err(EditError::Unsupported { reason: "TOML has no `null`" }),
        Json::Bool(value) => (*value).into(),
        Json::Number(number) => match number.as_i64() {
            Some(integer) => integer.into(),
            None => number.as_f64().unwrap_or_default().into(),
        },
        Json::String(text) => text.as_str().into(),
        Json::Array(items) => Value::Array(items.iter().map(value).collect::<Result<Array, _>>()?),
        Json::Object(fields) => {
            // Of the inner tables, only `oauth` has keys with other names in TOML.
            let fields = fields.iter().map(|(key, json)| {
                let oauth = keys::find(keys::OAUTH, Format::Json, key).and_then(|row| row.name(Format::Toml));
                Ok((oauth.unwrap_or(key).to_owned(), value(json)?))
            });
            Value::InlineTable(fields.collect::<Result<InlineTable, EditError>>()?)
        }
    })
}

fn set_enabled(server: &mut dyn TableLike, enabled: bool) {
    let key = enabled_key(Format::Toml);
    match server.get_mut(key).and_then(Item::as_value_mut) {
        Some(value) => {
            // Keeps the comment after the value.
            let decor = value.decor().clone();
            *value = enabled.into();
            *value.decor_mut() = decor;
        }
        None if enabled => {}
        None => drop(server.insert(key, Item::Value(false.into()))),
    }
}

/// Adds an item to an array of strings at the top, or removes it.
fn change_list(document: &mut DocumentMut, key: TopKey, item: &str, listed: bool) -> Result<(), EditError> {
    let key = top_key(key, Format::Toml);
    if !document.contains_key(key) && !listed {
        return Ok(());
    }
    let list = document.entry(key).or_insert_with(|| Item::Value(Value::Array(Array::new())));
    let list = list.as_array_mut().ok_or(NO_ARRAY)?;
    let is_listed = list.iter().any(|known| known.as_str() == Some(item));
    match (listed, is_listed) {
        (true, false) => list.push(item),
        (false, true) => list.retain(|known| known.as_str() != Some(item)),
        _ => {}
    }
    Ok(())
}

/// Removes a server with the comment directly above it. Comments before an empty line are kept.
fn remove(document: &mut DocumentMut, name: &str) -> Result<(), EditError> {
    let position = position_of(document, name);
    let removed = servers(document)?.remove(name).ok_or(NO_TABLE)?;
    let Item::Table(table) = removed else { return Ok(()) };
    let prefix = table.decor().prefix().and_then(RawString::as_str).unwrap_or_default();
    let Some(detached) = detached_comments(prefix) else { return Ok(()) };
    let mut next: Option<(isize, &mut Table)> = None;
    find_next(document.as_table_mut(), position.unwrap_or_default(), &mut next);
    match next {
        Some((_, table)) => {
            let own = table.decor().prefix().and_then(RawString::as_str).unwrap_or_default();
            let joined = format!("{detached}{}", own.trim_start_matches('\n'));
            table.decor_mut().set_prefix(joined);
        }
        None => {
            let trailing = document.trailing().as_str().unwrap_or_default().to_owned();
            document.set_trailing(format!("{detached}{trailing}"));
        }
    }
    Ok(())
}

fn position_of(document: &DocumentMut, name: &str) -> Option<isize> {
    let servers = document.get(servers_key(Format::Toml))?.as_table()?;
    servers.get(name)?.as_table()?.position()
}

/// Returns the comments before an empty line, with that line.
fn detached_comments(prefix: &str) -> Option<&str> {
    let end = prefix.rfind("\n\n")? + 2;
    prefix[..end].contains('#').then_some(&prefix[..end])
}

/// Finds the first table after a position.
fn find_next<'t>(table: &'t mut Table, position: isize, next: &mut Option<(isize, &'t mut Table)>) {
    for (_, item) in table.iter_mut() {
        let Item::Table(inner) = item else { continue };
        let own = inner.position().filter(|own| *own > position && !inner.is_implicit());
        let nearer = own.filter(|own| next.as_ref().is_none_or(|(found, _)| own < found));
        match nearer {
            // The inner tables follow their parent.
            Some(own) => *next = Some((own, inner)),
            None => find_next(inner, position, next),
        }
    }
}
