//! Reading what is sent: JSON, said to be JSON, and not too much.

use axum::{body::to_bytes, extract::Request};
use http::{StatusCode, header::CONTENT_TYPE};
use serde::de::DeserializeOwned;

use super::error::ApiError;

/// The most bytes of a body.
const LIMIT: usize = 256 * 1024;

/// The body of a request.
pub(super) async fn read<T: DeserializeOwned>(request: Request) -> Result<T, ApiError> {
    // A page of another site cannot send JSON as JSON without asking first, and nobody here says yes.
    let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let is_json = kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"));
    if !is_json {
        return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not-json", "the body is not said to be JSON")
            .advise("send `Content-Type: application/json`"));
    }
    let bytes = to_bytes(request.into_body(), LIMIT).await.map_err(|_| {
        let message = format!("the body is longer than {LIMIT} bytes, or broke off");
        ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", message)
    })?;
    serde_json::from_slice(&bytes).map_err(|error| {
        ApiError::new(StatusCode::BAD_REQUEST, "invalid-body", error.to_string())
            .advise("/openapi.json describes the body")
    })
}
