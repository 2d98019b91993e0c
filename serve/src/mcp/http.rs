//! The MCP endpoint over HTTP: rmcp's service behind the door.

use std::sync::Arc;

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
    let service =
        StreamableHttpService::new(move || Ok(served.clone()), Arc::new(LocalSessionManager::default()), config);
    Router::new().route_service(PATH, service).layer(middleware::from_fn_with_state(door, guard))
}
