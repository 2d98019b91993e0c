//! Finds responses and notifications among what was received.

use serde_json::Value;

use crate::evidence::StepError;

use super::{
    Sent, failure, rpc_error,
    transcript::{State, same_id, same_text},
};

/// The response to a request, or why there is none.
pub(super) fn find_response(state: &State, sent: &Sent) -> Option<Result<Value, StepError>> {
    let with_id = |same: fn(&Value, &Value) -> bool| {
        let mut responses = state.received.iter().skip(sent.since).filter(|message| message.get("method").is_none());
        responses.find(|message| message.get("id").is_some_and(|id| same(id, &sent.id)))
    };
    // A check reports an id of the wrong type; the run goes on with the response.
    match with_id(same_id).or_else(|| with_id(same_text)) {
        Some(response) => Some(Ok(response.clone())),
        None => dead_end(state, sent),
    }
}

/// A notification after a request, or why there is none.
pub(super) fn find_notification(state: &State, sent: &Sent, method: &str) -> Option<Result<Value, StepError>> {
    let wanted = |message: &&Value| message.get("id").is_none() && message["method"] == method;
    if let Some(found) = state.received.iter().skip(sent.since).find(wanted) {
        return Some(Ok(found.get("params").cloned().unwrap_or(Value::Null)));
    }
    match find_response(state, sent) {
        Some(Ok(response)) => Some(Err(rpc_error(&response)
            .unwrap_or_else(|| failure("closed", format!("the response arrived before a `{method}`"))))),
        other => other,
    }
}

/// The error if no response can arrive anymore.
pub(super) fn dead_end(state: &State, sent: &Sent) -> Option<Result<Value, StepError>> {
    if let Some(ended) = sent.exchange.and_then(|exchange| state.ended.get(&exchange)) {
        let message = match (&ended.error, ended.status) {
            (Some(error), _) => error.clone(),
            (None, Some(status)) => format!("the HTTP response ({status}) contains no response to the request"),
            (None, None) => "no HTTP response".to_owned(),
        };
        let kind = if ended.status.is_some_and(|status| status >= 400) { "http-status" } else { "no-answer" };
        return Some(Err(failure(kind, message)));
    }
    state.closed.as_ref().map(|why| Err(failure("closed", why.clone())))
}
