//! The description of the API, in OpenAPI.

use axum::Json;
use utoipa::{
    Modify, OpenApi,
    openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
};

use super::{auth, calls, content, events, requests, runs, servers};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "mcp-workbench management",
        description = "MCP servers, their status, login, tools and validation. Adding a server runs commands as the user of the workbench."
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
        calls::conversions,
        runs::list,
        runs::start,
        runs::show,
        runs::cancel,
        runs::events,
        runs::report,
        runs::comparison,
        content::prompts,
        content::resources,
        content::read_resource,
        content::expand,
        content::complete,
        requests::list,
        requests::respond,
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

/// The OpenAPI description.
#[must_use]
pub fn description() -> utoipa::openapi::OpenApi {
    Description::openapi()
}

pub(super) async fn document() -> Json<utoipa::openapi::OpenApi> {
    Json(description())
}
