//! The MCP endpoint over HTTP: rmcp's service behind the door.

use std::{sync::Arc, time::Duration};

use axum::{Router, middleware};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};
use tokio_util::sync::CancellationToken;

use super::Served;
use crate::{
    door::{Door, guard},
    workbench::Workbench,
};

/// For how long a session is kept that nobody uses, beside the time of a run.
const IDLE: Duration = Duration::from_secs(3_600);

/// The path of the endpoint.
pub const PATH: &str = "/mcp";

/// The endpoint, at [`PATH`], for whom the door lets in. Sessions end when `over` is cancelled.
pub fn router(workbench: &Workbench, door: Door, over: CancellationToken) -> Router {
    let served = Served { workbench: workbench.clone() };
    // The door has looked at hosts and origins: one place decides for everything that is served.
    let config = StreamableHttpServerConfig::default()
        .with_cancellation_token(over)
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let mut sessions = LocalSessionManager::default();
    // A run may be silent for as long as it may take, and a person longer still; a session costs little.
    sessions.session_config.keep_alive = Some(workbench.limits().run + IDLE);
    let service = StreamableHttpService::new(move || Ok(served.clone()), Arc::new(sessions), config);
    Router::new().route_service(PATH, service).layer(middleware::from_fn_with_state(door, guard))
}
