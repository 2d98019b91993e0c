//! Server routes: list, add, remove, connect, tools.

use std::collections::BTreeMap;

use agent::host::{HostConfig, HostServer};
use axum::{
    Json,
    extract::{Path, Request, State},
};
use client::manager::StartError;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{
    Management,
    body::read,
    config::check_name,
    entry::ServerEntry,
    error::{ApiError, ErrorBody},
    status::StatusView,
};

/// The source of added servers in messages.
const SOURCE: &str = "config";

/// A server and its status.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ServerView {
    /// Its configuration without secrets, and where it is from.
    #[schema(value_type = Object)]
    config: Value,
    /// Its status.
    #[serde(flatten)]
    status: StatusView,
}

/// A server to add.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewServer {
    /// Name of the server.
    name: String,
    /// Its configuration, as in `.mcp.json`.
    #[schema(schema_with = super::entry::schema)]
    config: ServerEntry,
}

/// The tools of a server.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Tools {
    /// Usable tools with their definitions.
    tools: Vec<Map<String, Value>>,
    /// Tools with invalid definitions.
    rejected: Vec<RejectedView>,
}

/// A tool with an invalid definition.
#[derive(Debug, Serialize, ToSchema)]
struct RejectedView {
    /// Name, if the tool has one.
    name: Option<String>,
    /// Reason of the rejection.
    reason: String,
}

/// Reports that the API is available. It needs no token.
#[utoipa::path(get, path = "/healthz", responses((status = 200, description = "The API is available")), security(()))]
pub(super) async fn health() -> Json<Value> {
    Json(serde_json::json!({ "status": "ok" }))
}

/// Lists the status of all servers.
#[utoipa::path(get, path = "/mcp", responses((status = 200, description = "The servers by name", body = BTreeMap<String, StatusView>)))]
pub(super) async fn list(State(management): State<Management>) -> Json<BTreeMap<String, StatusView>> {
    Json(management.statuses())
}

/// Adds or replaces a server and starts it. If it cannot be started, its status contains the error and the request succeeds.
/// Servers of the configuration files can be replaced too; the files do not change.
#[utoipa::path(post, path = "/mcp", request_body = NewServer, responses(
    (status = 200, description = "All servers by name", body = BTreeMap<String, StatusView>),
    (status = 400, description = "Invalid configuration", body = ErrorBody),
    (status = 403, description = "The policy does not allow the server", body = ErrorBody),
))]
pub(super) async fn add(
    State(management): State<Management>,
    request: Request,
) -> Result<Json<BTreeMap<String, StatusView>>, ApiError> {
    let NewServer { name, config } = read(request).await?;
    check_name(&name)?;
    let enabled = {
        let mut configuration = management.0.configuration.lock().await;
        let mut changed = configuration.clone();
        changed.put(&name, &config.into(), SOURCE)?;
        let config = management.host_config(&changed)?;
        if let Some(exclusion) = config.excluded.get(&name) {
            return Err(ApiError::excluded(&name, exclusion));
        }
        let enabled = config.server_named(&name).is_some_and(|server| server.managed.enabled);
        management.stop_login(&name).await;
        management.replace(config).await?;
        *configuration = changed;
        enabled
    };
    if enabled {
        // The status contains the error.
        drop(management.host().connect(&name).await);
    }
    Ok(Json(management.statuses()))
}

/// Shows the configuration of a server, without secrets, and its status.
#[utoipa::path(get, path = "/mcp/{name}", params(("name" = String, Path, description = "The server")), responses(
    (status = 200, description = "The server", body = ServerView),
    (status = 404, description = "Unknown server", body = ErrorBody),
))]
pub(super) async fn show(
    State(management): State<Management>,
    Path(name): Path<String>,
) -> Result<Json<ServerView>, ApiError> {
    let configuration = management.0.configuration.lock().await;
    let entry = configuration.servers.iter().find(|entry| entry.name == name);
    let config = entry.map(agent::config::Configured::view).ok_or_else(|| ApiError::unknown_server(&name))?;
    Ok(Json(ServerView { config, status: management.status(&name) }))
}

/// Stops and removes a server. Stored credentials and configuration files remain.
#[utoipa::path(delete, path = "/mcp/{name}", params(("name" = String, Path, description = "The server")), responses(
    (status = 200, description = "The remaining servers by name", body = BTreeMap<String, StatusView>),
    (status = 404, description = "Unknown server", body = ErrorBody),
))]
pub(super) async fn remove(
    State(management): State<Management>,
    Path(name): Path<String>,
) -> Result<Json<BTreeMap<String, StatusView>>, ApiError> {
    let mut configuration = management.0.configuration.lock().await;
    if !configuration.remove(&name) {
        return Err(ApiError::unknown_server(&name));
    }
    let config = management.host_config(&configuration)?;
    management.stop_login(&name).await;
    management.replace(config).await?;
    Ok(Json(management.statuses()))
}

/// Connects a server, even after repeated failures.
#[utoipa::path(post, path = "/mcp/{name}/connect", params(("name" = String, Path, description = "The server")), responses(
    (status = 200, description = "The server is connected", body = bool),
    (status = 404, description = "Unknown server", body = ErrorBody),
    (status = 409, description = "The server is disabled", body = ErrorBody),
    (status = 502, description = "The connection failed", body = ErrorBody),
))]
pub(super) async fn connect(
    State(management): State<Management>,
    Path(name): Path<String>,
) -> Result<Json<bool>, ApiError> {
    management.server(&name)?;
    match management.host().connect(&name).await {
        Ok(_) => Ok(Json(true)),
        Err(error) => Err(management.error(&name, error)),
    }
}

/// Disconnects a server. The next request that needs it reconnects it.
#[utoipa::path(post, path = "/mcp/{name}/disconnect", params(("name" = String, Path, description = "The server")), responses(
    (status = 200, description = "The server is disconnected", body = bool),
    (status = 404, description = "Unknown server", body = ErrorBody),
))]
pub(super) async fn disconnect(
    State(management): State<Management>,
    Path(name): Path<String>,
) -> Result<Json<bool>, ApiError> {
    management.server(&name)?;
    management.host().disconnect(&name).await.map_err(|error| management.error(&name, error))?;
    Ok(Json(true))
}

/// Lists the tools of a server, and starts it if necessary.
#[utoipa::path(get, path = "/mcp/{name}/tools", params(("name" = String, Path, description = "The server")), responses(
    (status = 200, description = "The tools", body = Tools),
    (status = 404, description = "Unknown server", body = ErrorBody),
    (status = 502, description = "The request to the server failed", body = ErrorBody),
))]
pub(super) async fn tools(
    State(management): State<Management>,
    Path(name): Path<String>,
) -> Result<Json<Tools>, ApiError> {
    management.server(&name)?;
    let list = management.host().server_tools(&name).await.map_err(|error| management.error(&name, &error))?;
    let rejected = list.rejected.iter().map(|one| RejectedView { name: one.name.clone(), reason: one.reason.clone() });
    Ok(Json(Tools { tools: list.tools.iter().map(|tool| tool.wire().clone()).collect(), rejected: rejected.collect() }))
}

impl Management {
    /// Applies a changed configuration. A required server that does not start is not an error of the request.
    async fn replace(&self, config: HostConfig) -> Result<(), ApiError> {
        match self.apply(config).await {
            Ok(()) | Err(StartError::Required(_)) => Ok(()),
            Err(error @ StartError::Duplicate(_)) => Err(error.into()),
        }
    }

    /// A server with login.
    pub(super) fn login_server(&self, name: &str) -> Result<HostServer, ApiError> {
        let server = self.server(name)?;
        if server.login_url().is_some() {
            return Ok(server);
        }
        let message = format!(
            "server `{name}` does not support login: it uses stdio, `oauth: false` or a configured `Authorization` header"
        );
        Err(ApiError::new(StatusCode::BAD_REQUEST, "no-oauth", message))
    }
}
