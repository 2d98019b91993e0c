//! The description of the API, in OpenAPI.

use axum::Json;
use utoipa::{
    Modify, OpenApi,
    openapi::{
        Schema,
        schema::{AdditionalProperties, ArrayBuilder, ObjectBuilder, Type},
        security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
    },
};

use super::{auth, calls, content, events, servers};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "mcp-workbench management",
        description = "MCP servers, their status, and login. Adding a server runs commands as the user of the workbench."
    ),
    paths(
        servers::health,
        servers::list,
        servers::add,
        servers::show,
        servers::remove,
        servers::connect,
        servers::disconnect,
        servers::tools,
        auth::start,
        auth::callback,
        auth::authenticate,
        auth::remove,
        calls::tools,
        calls::call,
        content::prompts,
        content::resources,
        content::read_resource,
        content::expand,
        content::complete,
        events::statuses,
        events::all
    ),
    modifiers(&TokenSecurity),
    security(("token" = []))
)]
struct Description;

/// Requires the token by default.
struct TokenSecurity;

impl Modify for TokenSecurity {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let token = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        let components = openapi.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(token));
    }
}

/// The schema of an entry. The reader of the configuration checks it and knows all keys.
pub(super) fn server_entry() -> Schema {
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

/// The OpenAPI description.
#[must_use]
pub fn description() -> utoipa::openapi::OpenApi {
    Description::openapi()
}

pub(super) async fn document() -> Json<utoipa::openapi::OpenApi> {
    Json(description())
}
