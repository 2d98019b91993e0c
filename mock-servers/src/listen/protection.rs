//! Whether a guard stands before the endpoint.

use std::sync::{Arc, OnceLock};

use axum::body::Body as HttpBody;
use http::{Method, Response, StatusCode};
use serde_json::Value;

use super::exchange::Exchange;
use crate::{http::responder::empty, oauth::Guard};

/// What stands before the endpoint. Clones share it.
#[derive(Debug, Clone)]
pub(crate) enum Protection {
    /// Nothing.
    Open,
    /// A guard, as soon as it is known under which URL it stands: that is decided when the port is bound.
    Guarded(Arc<OnceLock<Guard>>),
}

impl Protection {
    pub(crate) fn guarded() -> Self {
        Self::Guarded(Arc::default())
    }

    /// Whether nothing stands before the endpoint.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Self::Open)
    }

    /// Puts the guard in its place.
    pub(crate) fn complete(&self, guard: Guard) {
        if let Self::Guarded(place) = self
            && place.set(guard).is_err()
        {
            tracing::warn!("there is a guard already");
        }
    }

    /// The answer to a request that may not pass. Until the guard is there, none may.
    pub(crate) fn refuses(&self, exchange: &Exchange, message: Option<&Value>) -> Option<Response<HttpBody>> {
        let Self::Guarded(place) = self else { return None };
        let Some(guard) = place.get() else { return Some(exchange.respond(empty(StatusCode::SERVICE_UNAVAILABLE))) };
        let checked = guard.check(exchange.method(), exchange.uri(), exchange.headers(), message);
        checked.err().map(|challenge| exchange.respond(challenge.into_response()))
    }

    /// The metadata of the resource, where this is a request for it.
    pub(crate) async fn metadata(&self, exchange: &Exchange) -> Option<Response<HttpBody>> {
        let Self::Guarded(place) = self else { return None };
        if *exchange.method() != Method::GET {
            return None;
        }
        let answer = place.get()?.metadata_route(exchange.path()).await?;
        exchange.receive_unread();
        Some(exchange.respond(answer))
    }
}
