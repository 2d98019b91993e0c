//! The guard of an endpoint. This module knows no authorization.

use std::{
    fmt::Debug,
    sync::{Arc, OnceLock},
};

use axum::body::Body as HttpBody;
use futures::future::BoxFuture;
use http::{HeaderMap, Method, Response, StatusCode, Uri};
use serde_json::Value;

use evidence::Body;

use super::http_exchange::HttpExchange;

/// Reason of the rejection of each request until the guard is set.
pub(crate) const STARTING: &str = "the server is starting";

/// Decides which requests reach a resource, and serves the resource's metadata.
pub(crate) trait RequestGuard: Debug + Send + Sync {
    /// The response to a rejected request. `message` is its body, if that is JSON.
    fn reject(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        message: Option<&Value>,
    ) -> Option<Response<HttpBody>>;

    /// The metadata of the resource with its recorded body, if it is at this path of its origin.
    fn metadata_response<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Option<(Response<HttpBody>, Body)>>;
}

/// The guard of an endpoint, if it has one. Clones share the guard.
#[derive(Debug, Clone)]
pub(crate) enum Protection {
    /// No guard.
    Open,
    /// A guard. It needs the URL of the endpoint, which is known once the port is bound.
    Guarded(Arc<OnceLock<Arc<dyn RequestGuard>>>),
}

impl Protection {
    pub(crate) fn guarded() -> Self {
        Self::Guarded(Arc::default())
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Self::Open)
    }

    /// Sets the guard.
    pub(crate) fn complete(&self, guard: Arc<dyn RequestGuard>) {
        if let Self::Guarded(slot) = self
            && slot.set(guard).is_err()
        {
            tracing::warn!("the endpoint already has a guard");
        }
    }

    /// The response to a rejected request. Every request is rejected until the guard is set.
    pub(crate) fn refuses(&self, exchange: &HttpExchange, message: Option<&Value>) -> Option<Response<HttpBody>> {
        let Self::Guarded(slot) = self else { return None };
        let Some(guard) = slot.get() else { return Some(exchange.refuse(StatusCode::SERVICE_UNAVAILABLE, STARTING)) };
        let rejected = guard.reject(exchange.method(), exchange.uri(), exchange.headers(), message);
        rejected.map(|response| exchange.respond(response))
    }

    /// The metadata of the resource, if the request is for it.
    pub(crate) async fn metadata(&self, exchange: &HttpExchange) -> Option<Response<HttpBody>> {
        let Self::Guarded(slot) = self else { return None };
        if *exchange.method() != Method::GET {
            return None;
        }
        let (response, body) = slot.get()?.metadata_response(exchange.path()).await?;
        exchange.receive_unread();
        Some(exchange.respond_with(response, body))
    }
}
