//! The routes about servers: which there are, adding and removing, connecting, tools.

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

/// A server to be added.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Added {
    /// The name that it is known by from then on.
    name: String,
    /// Where it is, and how it is used.
    config: ServerEntry,
}

/// The tools of a server.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Tools {
    /// Those that can be used, each as the server describes it.
    tools: Vec<Map<String, Value>>,
    /// Those that cannot.
    rejected: Vec<RejectedView>,
}

/// A tool that cannot be used.
#[derive(Debug, Serialize, ToSchema)]
struct RejectedView {
    /// Its name, where it has one.
    name: Option<String>,
    /// Why.
    reason: String,
}

/// Says that the API is there. It needs no token.
#[utoipa::path(get, path = "/healthz", responses((status = 200, description = "It is there")), security(()))]
pub(super) async fn health() -> Json<Value> {
    Json(serde_json::json!({ "status": "ok" }))
}

/// How all servers are doing.
#[utoipa::path(get, path = "/mcp", responses((status = 200, description = "The servers by name", body = BTreeMap<String, StatusView>)))]
pub(super) async fn list(State(management): State<Management>) -> Json<BTreeMap<String, StatusView>> {
    Json(management.statuses())
}

/// Adds a server, or takes the place of one of this name, and starts it. How it is doing then is told; that it cannot be started
/// is no error of the request.
#[utoipa::path(post, path = "/mcp", request_body = Added, responses(
    (status = 200, description = "All servers by name", body = BTreeMap<String, StatusView>),
    (status = 400, description = "Invalid configuration", body = ErrorBody),
    (status = 403, description = "The administrator does not allow the server", body = ErrorBody),
))]
pub(super) async fn add(
    State(management): State<Management>,
    request: Request,
) -> Result<Json<BTreeMap<String, StatusView>>, ApiError> {
    let Added { name, config } = read(request).await?;
    let known = config.known(&name)?;
    let ruling = management.0.settings.policy.judge(&known.managed.config, Origin::User);
    if !ruling.allowed {
        let message = format!("server `{name}` may not be used: {}", known.clean(ruling.reason));
        return Err(ApiError::new(StatusCode::FORBIDDEN, "not-allowed", message)
            .advise("ask the administrator of this machine"));
    }
    let enabled = known.managed.enabled;
    {
        let _turn = management.0.changing.lock().await;
        management.end_login(&name).await;
        management.servers().insert(name.clone(), known);
        management.apply().await?;
    }
    if enabled {
        // Why it does not start is in its status.
        drop(management.manager().connect(&name).await);
    }
    Ok(Json(management.statuses()))
}

/// Ends a server, and forgets it. What is kept of a login stays.
#[utoipa::path(delete, path = "/mcp/{name}", params(("name" = String, Path, description = "The server")), responses(
    (status = 200, description = "All that are left, by name", body = BTreeMap<String, StatusView>),
    (status = 404, description = "Unknown server", body = ErrorBody),
))]
pub(super) async fn remove(
    State(management): State<Management>,
    Path(name): Path<String>,
) -> Result<Json<BTreeMap<String, StatusView>>, ApiError> {
    let _turn = management.0.changing.lock().await;
    management.known(&name)?;
    management.end_login(&name).await;
    management.servers().remove(&name);
    management.apply().await?;
    Ok(Json(management.statuses()))
}

/// Connects a server, also one that was given up.
#[utoipa::path(post, path = "/mcp/{name}/connect", params(("name" = String, Path, description = "The server")), responses(
    (status = 200, description = "It is connected", body = bool),
    (status = 404, description = "Unknown server", body = ErrorBody),
    (status = 409, description = "It is disabled", body = ErrorBody),
    (status = 502, description = "It cannot be connected", body = ErrorBody),
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

/// Disconnects a server. It is started again by the next request that needs it.
#[utoipa::path(post, path = "/mcp/{name}/disconnect", params(("name" = String, Path, description = "The server")), responses(
    (status = 200, description = "It is not connected any more", body = bool),
    (status = 404, description = "Unknown server", body = ErrorBody),
))]
pub(super) async fn disconnect(
    State(management): State<Management>,
    Path(name): Path<String>,
) -> Result<Json<bool>, ApiError> {
    management.manager().disconnect(&name).await.map_err(|error| management.error(&name, error))?;
    Ok(Json(true))
}

/// The tools of a server, which is started if it is not up.
#[utoipa::path(get, path = "/mcp/{name}/tools", params(("name" = String, Path, description = "The server")), responses(
    (status = 200, description = "Its tools", body = Tools),
    (status = 404, description = "Unknown server", body = ErrorBody),
    (status = 502, description = "It cannot be asked", body = ErrorBody),
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
    /// Puts what is known into effect.
    async fn apply(&self) -> Result<(), ApiError> {
        let wanted = self.servers().values().map(|known| known.managed.clone()).collect();
        // None is required, and their names are keys: what fails is in their statuses.
        self.manager().apply(wanted).await.map(drop).map_err(ApiError::from)
    }

    /// Refuses what has nothing to do with logging in.
    pub(super) fn login_url(&self, name: &str) -> Result<url::Url, ApiError> {
        self.known(name)?.login.ok_or_else(|| {
            let message =
                format!("server `{name}` knows no login: it is a program, or has an `Authorization` of its own");
            ApiError::new(StatusCode::BAD_REQUEST, "no-oauth", message)
        })
    }
}
