//! Server routes: list, add, remove, connect, tools.

use std::collections::BTreeMap;

use agent::policy::Origin;
use axum::{
    Json,
    extract::{Path, Request, State},
};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{
    Management, ServerEntry,
    body::read,
    error::{ApiError, ErrorBody},
    status::StatusView,
};

/// A server to add.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewServer {
    /// Name of the server.
    name: String,
    /// Its configuration.
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
    let server = config.register(&name)?;
    let decision = management.0.settings.policy.decide(&server.managed.config, Origin::User);
    if !decision.allowed {
        let message = format!("the policy does not allow server `{name}`: {}", server.redact(decision.reason));
        return Err(ApiError::new(StatusCode::FORBIDDEN, "not-allowed", message)
            .with_help("ask the administrator of this machine"));
    }
    let enabled = server.managed.enabled;
    {
        let _guard = management.0.changing.lock().await;
        management.stop_login(&name).await;
        management.servers().insert(name.clone(), server);
        management.apply().await?;
    }
    if enabled {
        // The status contains the error.
        drop(management.manager().connect(&name).await);
    }
    Ok(Json(management.statuses()))
}

/// Stops and removes a server. Stored credentials remain.
#[utoipa::path(delete, path = "/mcp/{name}", params(("name" = String, Path, description = "The server")), responses(
    (status = 200, description = "The remaining servers by name", body = BTreeMap<String, StatusView>),
    (status = 404, description = "Unknown server", body = ErrorBody),
))]
pub(super) async fn remove(
    State(management): State<Management>,
    Path(name): Path<String>,
) -> Result<Json<BTreeMap<String, StatusView>>, ApiError> {
    let _guard = management.0.changing.lock().await;
    management.registered(&name)?;
    management.stop_login(&name).await;
    management.servers().remove(&name);
    management.apply().await?;
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
    match management.manager().connect(&name).await {
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
    management.manager().disconnect(&name).await.map_err(|error| management.error(&name, error))?;
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
    let list = management.manager().tools(&name).await.map_err(|error| management.error(&name, error))?;
    let rejected = list.rejected.iter().map(|one| RejectedView { name: one.name.clone(), reason: one.reason.clone() });
    Ok(Json(Tools { tools: list.tools.iter().map(|tool| tool.wire().clone()).collect(), rejected: rejected.collect() }))
}

impl Management {
    /// Applies the registered servers to the manager.
    async fn apply(&self) -> Result<(), ApiError> {
        let wanted = self.servers().values().map(|server| server.managed.clone()).collect();
        // No server is required and names are unique, so failures appear only in statuses.
        self.manager().apply(wanted).await.map(drop).map_err(ApiError::from)
    }

    /// The URL for logins, or an error for a server without login.
    pub(super) fn login_url(&self, name: &str) -> Result<url::Url, ApiError> {
        self.registered(name)?.login.ok_or_else(|| {
            let message =
                format!("server `{name}` does not support login: it uses stdio or a configured `Authorization` header");
            ApiError::new(StatusCode::BAD_REQUEST, "no-oauth", message)
        })
    }
}
