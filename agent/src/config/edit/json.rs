//! Edits of JSON on a syntax tree with comments and whitespace.

use diagnostics::document::json_options;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::Value;

use super::{Edit, EditError, NO_ARRAY, NO_LIST, enabled_key, list_edit, permissions_key, servers_key, top_key};
use crate::config::keys::{Format, TopKey};

const NO_TABLE: EditError = EditError::Unsupported { reason: "the servers are not in a table" };

pub(super) fn apply(text: &str, edit: &Edit) -> Result<String, EditError> {
    let root = CstRootNode::parse(text, &json_options()).map_err(|_| NO_TABLE)?;
    let top = root.object_value_or_create().ok_or(NO_TABLE)?;
    if let Some((key, item, listed)) = list_edit(edit) {
        change_list(&top, key, item, listed)?;
        return Ok(root.to_string());
    }
    let servers = top.object_value_or_create(servers_key(Format::Json)).ok_or(NO_TABLE)?;
    match edit {
        Edit::Add { name, entry, .. } => {
            let value = input(&Value::Object(entry.clone()));
            match servers.get(name) {
                Some(property) => property.set_value(value),
                None => drop(servers.append(name, value)),
            }
        }
        Edit::Remove { name } => {
            if let Some(property) = servers.get(name) {
                property.remove();
            }
        }
        Edit::Enable { name, enabled } => {
            let server = servers.object_value(name).ok_or(NO_TABLE)?;
            set_enabled(&server, *enabled);
        }
        Edit::Allow { name, rule } => {
            let server = servers.object_value(name).ok_or(NO_TABLE)?;
            let rules = server.object_value_or_create(permissions_key(Format::Json)).ok_or(NO_TABLE)?;
            let list = rules.array_value_or_create("allow").ok_or(NO_LIST)?;
            list.append(CstInputValue::String(rule.clone()));
        }
        Edit::List { .. } | Edit::Plugin { .. } => {}
    }
    Ok(root.to_string())
}

/// Sets the key `enabled`. An enabled server does not need it.
fn set_enabled(server: &CstObject, enabled: bool) {
    match server.get(enabled_key(Format::Json)) {
        Some(property) => property.set_value(CstInputValue::Bool(enabled)),
        None if enabled => {}
        None => drop(server.append(enabled_key(Format::Json), CstInputValue::Bool(false))),
    }
}

/// Adds an item to an array of strings at the top, or removes it.
fn change_list(top: &CstObject, key: TopKey, item: &str, listed: bool) -> Result<(), EditError> {
    let list = top.array_value_or_create(top_key(key, Format::Json)).ok_or(NO_ARRAY)?;
    let is_item = |text: Option<String>| text.as_deref() == Some(item);
    let elements = list.elements().into_iter();
    let found: Vec<_> = elements
        .filter(|element| is_item(element.as_string_lit().and_then(|text| text.decoded_value().ok())))
        .collect();
    match (listed, found.is_empty()) {
        (true, true) => drop(list.append(CstInputValue::String(item.to_owned()))),
        (false, false) => found.into_iter().for_each(jsonc_parser::cst::CstNode::remove),
        _ => {}
    }
    Ok(())
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(fields) => {
            CstInputValue::Object(fields.iter().map(|(name, value)| (name.clone(), input(value))).collect())
        }
    }
}
