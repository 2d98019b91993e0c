//! Responses to the requests of a server.

use serde_json::{Value, json};

use crate::{arguments::sample, model::User};

/// The response to a request from the server: to `ping` and the features that the scenario declared a result, otherwise an
/// error. `None` if the user is absent.
pub(super) fn answer(request: &Value, declared: &Value, user: User) -> Option<Value> {
    let refuses = matches!(user, User::Refuses | User::Fails);
    let method = request["method"].as_str().unwrap_or_default();
    let is_supported = feature_of(method).is_none_or(|feature| declared.get(feature).is_some());
    if user == User::Absent && is_supported && feature_of(method).is_some() {
        return None;
    }
    let outcome = match method {
        "ping" => Ok(json!({})),
        _ if !is_supported => Err((-32601, "method not found")),
        "roots/list" if refuses => Err((-32603, "no roots")),
        "roots/list" => Ok(json!({ "roots": [] })),
        "elicitation/create" => match (user, request.pointer("/params/requestedSchema")) {
            (User::Fails, _) => Err((-32603, "the form cannot be shown")),
            (User::Refuses, _) => Ok(json!({ "action": "cancel" })),
            (User::Declines | User::Absent, _) => Ok(json!({ "action": "decline" })),
            (User::Accepts, Some(schema)) => Ok(json!({ "action": "accept", "content": sample(schema) })),
            (User::Accepts, None) => Ok(json!({ "action": "accept" })),
        },
        "sampling/createMessage" if refuses => Err((-1, "User rejected sampling request")),
        "sampling/createMessage" => Ok(json!({
            "role": "assistant", "model": "workbench", "stopReason": "endTurn",
            "content": { "type": "text", "text": "no model" },
        })),
        _ => Err((-32601, "method not found")),
    };
    let id = request.get("id").cloned().unwrap_or(Value::Null);
    Some(match outcome {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err((code, message)) => json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }),
    })
}

/// The capability of a client that a request of this method needs: the user or the model answers it.
pub(crate) fn feature_of(method: &str) -> Option<&'static str> {
    match method {
        "roots/list" => Some("roots"),
        "elicitation/create" => Some("elicitation"),
        "sampling/createMessage" => Some("sampling"),
        _ => None,
    }
}
