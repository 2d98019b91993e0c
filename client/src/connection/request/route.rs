//! The routes of a request: through rmcp, or directly.

use rmcp::{model::ServerResult, service::ServiceError};
use serde_json::Value;
use tokio::sync::oneshot::Receiver;

use crate::{
    direct::{NoResponse, PendingResponse},
    event::CallId,
    tracker::Reply,
};

/// The route of a request.
pub(super) enum RequestRoute {
    /// Through rmcp.
    Sdk(Receiver<Result<ServerResult, ServiceError>>),
    /// Directly, with the request in case it has to be repeated through rmcp.
    Direct { response: PendingResponse, method: &'static str, params: Value, call: Option<CallId> },
}

impl std::fmt::Debug for RequestRoute {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if matches!(self, Self::Sdk(_)) { "Sdk" } else { "Direct" })
    }
}

/// The outcome of a route.
pub(super) enum RouteOutcome {
    /// From rmcp, unless it has stopped.
    Sdk(Option<Box<Result<ServerResult, ServiceError>>>),
    /// From a direct call.
    Direct(Result<Reply, NoResponse>),
}

impl RequestRoute {
    /// Waits for the outcome.
    pub(super) async fn outcome(&mut self) -> RouteOutcome {
        match self {
            Self::Sdk(response) => RouteOutcome::Sdk(response.await.ok().map(Box::new)),
            Self::Direct { response, .. } => RouteOutcome::Direct(response.await),
        }
    }
}
