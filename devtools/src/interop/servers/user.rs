//! The user, the model and the workplace of the visits: they answer whatever servers ask.

use client::{HostLink, HostRequest, HostRequestKind, HostSupport};
use serde_json::{Map, Value, json};
use tokio::task::AbortHandle;

/// A user who answers until dropped.
#[derive(Debug)]
pub(super) struct User {
    pub(super) link: HostLink,
    task: AbortHandle,
}

impl User {
    /// Sits down.
    pub(super) fn present() -> Self {
        let link = HostLink::new(HostSupport::ALL);
        let mut requests = link.subscribe();
        let task = tokio::spawn(async move {
            while let Some(request) = requests.next().await {
                answer(request);
            }
        });
        Self { link, task: task.abort_handle() }
    }
}

impl Drop for User {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Types a name, and leaves every other field of a form as it is.
fn answer(mut request: HostRequest) {
    let outcome = match request.kind() {
        HostRequestKind::Form { .. } => request.accept(object(json!({ "name": "Ada" }))),
        HostRequestKind::Url { .. } => request.consent(),
        HostRequestKind::Sampling { .. } => request.sampled(object(json!({
            "role": "assistant",
            "model": "interop-model",
            "stopReason": "endTurn",
            "content": { "type": "text", "text": "sampled by interop" },
        }))),
        // Whatever else there will be is dismissed when the request is dropped.
        _ => Ok(()),
    };
    if let Err(error) = outcome {
        tracing::warn!(%error, "the user could not answer");
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}
