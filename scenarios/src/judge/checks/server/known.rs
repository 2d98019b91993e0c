//! Deviations that come from an SDK, so that the author of a server cannot change them. Checks of a SHOULD name them in a
//! passed result instead of a warning.

use serde_json::Value;

use crate::judge::transcript::{Message, RequestResponse, http::status};

/// The SDK that chose the code of an error.
pub(super) fn sdk_of(request: &RequestResponse<'_>) -> Option<&'static str> {
    let error = request.error()?;
    let message = error.get("message").and_then(Value::as_str).unwrap_or_default();
    match request.code()? {
        // Every exception that is not an MCP error gets this code.
        0 => Some("the Python SDK"),
        // Its requests are a union of the known methods.
        -32602 if message == "Invalid request parameters" => Some("the Python SDK"),
        // It reads the arguments before it calls the tool.
        -32602 if message.starts_with("failed to deserialize parameters") => Some("rmcp"),
        -32603 if message.starts_with("Error rendering prompt ") => Some("FastMCP"),
        -32603 if lists_issues(message) => Some("the TypeScript SDK"),
        _ => None,
    }
}

/// The SDK that sends this error to a request that was cancelled.
pub(super) fn sdk_of_cancelled(response: &Message<'_>) -> Option<&'static str> {
    let error = response.error()?;
    (*error.get("code")? == 0 && error.get("message")? == "Request cancelled").then_some("the Python SDK")
}

/// Whether the message is the JSON of the issues that Zod found in a request.
fn lists_issues(message: &str) -> bool {
    let Ok(Value::Array(issues)) = serde_json::from_str(message) else { return false };
    let is_issue = |issue: &Value| issue.get("code").is_some() && issue.get("path").is_some();
    !issues.is_empty() && issues.iter().all(is_issue)
}

/// Whether a response has no id, `null`, or the placeholder of an SDK.
pub(super) fn id_of_none(response: &Message<'_>) -> bool {
    response.id().is_none_or(Value::is_null) || has_placeholder_id(response)
}

/// Whether an SDK rejects batches with this error: the Python SDKs over HTTP, and rmcp.
pub(super) fn rejects_batch(response: &Message<'_>) -> bool {
    let message = response.error().and_then(|error| error.get("message")?.as_str()).unwrap_or_default();
    has_placeholder_id(response) || message == "Invalid request" || message.starts_with("Validation error: ")
}

/// Whether this is an error with an HTTP error status and the id that the Python SDK 1.x uses instead of none.
pub(super) fn has_placeholder_id(response: &Message<'_>) -> bool {
    let is_placeholder = response.id().is_some_and(|id| id == "server-error");
    is_placeholder && response.error().is_some() && status(response.frame).is_some_and(|status| status >= 400)
}

/// The observation of a rejection with another code.
pub(super) fn rejection(code: i64, sdk: &str) -> String {
    format!("the request is rejected with {code}, as {sdk} does")
}
