//! The configuration of a server in a request. The reader of configuration files checks it.

use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::openapi::{
    Schema,
    schema::{AdditionalProperties, ArrayBuilder, ObjectBuilder, Type},
};

/// Configuration of a server: an entry of `.mcp.json`, with all of its keys. Values can contain `${NAME}` and
/// `${NAME:-default}`.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct ServerEntry(Map<String, Value>);

impl From<ServerEntry> for Value {
    fn from(entry: ServerEntry) -> Self {
        entry.0.into()
    }
}

/// The schema of an entry. The reader of the configuration checks it and knows all keys.
pub(super) fn schema() -> Schema {
    let text = || ObjectBuilder::new().schema_type(Type::String);
    let object = |help: &str| ObjectBuilder::new().description(Some(help)).build();
    ObjectBuilder::new()
        .title(Some("ServerEntry"))
        .description(Some(
            "An entry of `.mcp.json`, with all keys of docs/configuration.md: `command`, `args`, `env`, `url`, `headers`, \
             `oauth`, `scopes`, `permissions`, timeouts, `enabledTools`, … Values can contain `${NAME}` and \
             `${NAME:-default}`. Responses never contain values of `env` and `headers`.",
        ))
        .property("type", text().description(Some("`stdio`, `http`, `sse` or `auto` [default: by the other keys]")))
        .property("command", text().description(Some("Program of a stdio server")))
        .property("args", ArrayBuilder::new().items(text()))
        .property("env", object("Variables of the program"))
        .property("url", text().description(Some("URL of a remote server")))
        .property("headers", object("Headers of all requests"))
        .property("oauth", object("Settings of the login, or `false`"))
        .property("permissions", object("Rules: `allow`, `ask`, `deny`"))
        .property("enabled", ObjectBuilder::new().schema_type(Type::Boolean))
        .property("startupTimeoutMs", ObjectBuilder::new().schema_type(Type::Integer))
        .additional_properties(Some(AdditionalProperties::FreeForm(true)))
        .build()
        .into()
}
