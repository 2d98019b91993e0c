//! Reads JSON bodies with a size limit, and queries.

use axum::{body::to_bytes, extract::Request};
use http::{StatusCode, Uri, header::CONTENT_TYPE};
use serde::de::DeserializeOwned;
use url::form_urlencoded;

use super::error::ApiError;

/// Maximum size of a body in bytes.
const MAX_BYTES: usize = 256 * 1024;

/// Reads the body of a request. Errors name the invalid field.
pub(super) async fn read<T: DeserializeOwned>(request: Request) -> Result<T, ApiError> {
    // A page of another site needs a CORS preflight to send this content type, and no preflight succeeds here.
    let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let is_json = kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"));
    if !is_json {
        return Err(ApiError::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "not-json",
            "the content type of the body is not JSON",
        )
        .with_help("send `Content-Type: application/json`"));
    }
    let bytes = to_bytes(request.into_body(), MAX_BYTES).await.map_err(|_| {
        let message = format!("the body is incomplete or longer than {MAX_BYTES} bytes");
        ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", message)
    })?;
    let invalid = |message: String| {
        ApiError::new(StatusCode::BAD_REQUEST, "invalid-body", message).with_help("see /openapi.json for the body")
    };
    let mut json = serde_json::Deserializer::from_slice(&bytes);
    let body =
        serde_path_to_error::deserialize(&mut json).map_err(|error| match error.path().to_string().as_str() {
            "." => invalid(error.inner().to_string()),
            path => invalid(format!("`{path}`: {}", error.inner())),
        })?;
    json.end().map_err(|error| invalid(error.to_string()))?;
    Ok(body)
}

/// The value of a query parameter.
pub(super) fn query(uri: &Uri, name: &str) -> Option<String> {
    let mut pairs = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    pairs.find_map(|(key, value)| (key == name).then(|| value.into_owned()))
}

/// The value of a query parameter that must be present.
pub(super) fn required_query(uri: &Uri, name: &str) -> Result<String, ApiError> {
    query(uri, name).ok_or_else(|| {
        let message = format!("the query parameter `{name}` is missing");
        ApiError::new(StatusCode::BAD_REQUEST, "invalid-query", message).with_help("see /openapi.json")
    })
}
