//! The MCP endpoint over HTTP: rmcp's service behind access control.

use std::{sync::Arc, time::Duration};

use axum::{Router, middleware};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};
use tokio_util::sync::CancellationToken;

use super::Served;
use crate::{
    access::{AccessControl, guard},
    workbench::Workbench,
};

/// Idle timeout of a session, in addition to the timeout of a run.
const IDLE: Duration = Duration::from_secs(3_600);

/// Path of the endpoint.
pub const PATH: &str = "/mcp";

/// The router with the endpoint at [`PATH`]. Sessions are closed when `over` is cancelled.
pub fn router(workbench: &Workbench, access: AccessControl, over: CancellationToken) -> Router {
    let served = Served { workbench: workbench.clone() };
    // Access control has checked host and origin; rmcp must not apply other rules.
    let config = StreamableHttpServerConfig::default()
        .with_cancellation_token(over)
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let mut sessions = LocalSessionManager::default();
    // A run can be silent until its timeout, and a user even longer; a session needs few resources.
    sessions.session_config.keep_alive = Some(workbench.limits().run + IDLE);
    let service = StreamableHttpService::new(move || Ok(served.clone()), Arc::new(sessions), config);
    Router::new().route_service(PATH, service).layer(middleware::from_fn_with_state(access, guard))
}
