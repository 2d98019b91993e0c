//! Routes of prompts, resources, and texts of the user.

use std::collections::BTreeMap;

use agent::resources::RequestError;
use axum::{
    Json,
    extract::{Request, State},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{
    Management,
    body::read,
    error::{ApiError, ErrorBody},
};

/// The prompts of all servers.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AllPrompts {
    /// By command, for example `/mcp__server__prompt`.
    prompts: BTreeMap<String, PromptView>,
    /// Servers whose prompts could not be read, with the reason.
    missing: BTreeMap<String, String>,
}

/// A prompt.
#[derive(Debug, Serialize, ToSchema)]
struct PromptView {
    /// The server.
    server: String,
    /// The definition of the server.
    #[schema(value_type = Object)]
    prompt: Value,
}

/// The resources of all servers.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AllResources {
    /// By server.
    servers: BTreeMap<String, ResourcesView>,
    /// Servers whose resources could not be read, with the reason.
    missing: BTreeMap<String, String>,
}

/// The resources of a server.
#[derive(Debug, Serialize, ToSchema)]
struct ResourcesView {
    /// Resources.
    #[schema(value_type = Vec<Object>)]
    resources: Vec<Value>,
    /// Templates of resources.
    #[schema(value_type = Vec<Object>)]
    templates: Vec<Value>,
}

/// A resource.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ResourceName {
    /// The server.
    server: String,
    /// The URI.
    uri: String,
}

/// A text of the user.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UserText {
    /// The text.
    text: String,
}

/// Completions of a text.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Completions {
    /// Replacements of the last word.
    completions: Vec<String>,
}

/// Lists the prompts of all servers, and starts servers if necessary.
#[utoipa::path(get, path = "/prompts", responses((status = 200, description = "The prompts", body = AllPrompts)))]
pub(super) async fn prompts(State(management): State<Management>) -> Json<AllPrompts> {
    let all = management.host().prompts().all().await;
    let prompts = all
        .commands
        .into_iter()
        .map(|(name, prompt)| (format!("/{name}"), PromptView { server: prompt.server, prompt: prompt.wire }));
    Json(AllPrompts { prompts: prompts.collect(), missing: management.missing(&all.missing) })
}

/// Lists the resources and templates of all servers, and starts servers if necessary.
#[utoipa::path(get, path = "/resources", responses((status = 200, description = "The resources", body = AllResources)))]
pub(super) async fn resources(State(management): State<Management>) -> Json<AllResources> {
    let all = management.host().resources().all().await;
    let servers = all.servers.into_iter().map(|(server, lists)| {
        (server, ResourcesView { resources: lists.resources.to_vec(), templates: lists.templates.to_vec() })
    });
    Json(AllResources { servers: servers.collect(), missing: management.missing(&all.missing) })
}

/// Reads a resource; returns the result of `resources/read`.
#[utoipa::path(post, path = "/resources/read", request_body = ResourceName, responses(
    (status = 200, description = "The result", body = Object),
    (status = 404, description = "Unknown server", body = ErrorBody),
    (status = 502, description = "The server cannot be used, or the request failed", body = ErrorBody),
))]
pub(super) async fn read_resource(
    State(management): State<Management>,
    request: Request,
) -> Result<Json<Map<String, Value>>, ApiError> {
    let ResourceName { server, uri } = read(request).await?;
    let contents = management.host().resources().read(&server, &uri).await;
    contents.map(Json).map_err(|error| management.error(&server, error))
}

/// Expands a text of the user: runs a prompt (`/mcp__server__prompt a "b c"`), or reads the resources that the text
/// mentions (`@server:uri`).
#[utoipa::path(post, path = "/expand", request_body = UserText, responses(
    (status = 200, description = "`messages` for the model, and the content of the `mentions`", body = Object),
    (status = 400, description = "Unknown prompt, or invalid values", body = ErrorBody),
    (status = 502, description = "The server cannot be used, or the request failed", body = ErrorBody),
))]
pub(super) async fn expand(
    State(management): State<Management>,
    request: Request,
) -> Result<Json<agent::host::Expansion>, ApiError> {
    let UserText { text } = read(request).await?;
    let expanded = management.host().expand(&text).await;
    expanded.map(Json).map_err(|error| ApiError::from(error).map(|text| management.redact_all(text)))
}

/// Completes the last word of a text: a prompt, the value of an argument, or a mention.
#[utoipa::path(post, path = "/complete", request_body = UserText, responses(
    (status = 200, description = "The completions", body = Completions),
    (status = 502, description = "The server cannot be used, or the request failed", body = ErrorBody),
))]
pub(super) async fn complete(
    State(management): State<Management>,
    request: Request,
) -> Result<Json<Completions>, ApiError> {
    let UserText { text } = read(request).await?;
    let completions = management.host().complete(&text).await;
    let completions = completions.map_err(|error| ApiError::from(error).map(|text| management.redact_all(text)))?;
    Ok(Json(Completions { completions }))
}

impl Management {
    fn missing(&self, missing: &BTreeMap<String, RequestError>) -> BTreeMap<String, String> {
        let reason = |(server, error): (&String, &RequestError)| {
            (server.clone(), self.redact(server, crate::error::error_chain(error)))
        };
        missing.iter().map(reason).collect()
    }

    /// Redacts the secrets of all servers, for messages about an unknown one.
    pub(super) fn redact_all(&self, text: String) -> String {
        super::lock(&self.0.secrets).values().fold(text, |text, secrets| secrets.redact(text))
    }
}
