//! The user and the model of the built-in client, which accept all requests of servers.

use client::{HostLink, HostRequest, HostRequestKind, HostSupport};
use serde_json::{Map, Value, json};
use tokio::task::AbortHandle;

/// Handles requests until dropped.
#[derive(Debug)]
pub(super) struct User {
    pub(super) link: HostLink,
    task: AbortHandle,
}

impl User {
    /// Starts handling requests.
    pub(super) fn start() -> Self {
        let link = HostLink::new(HostSupport::ALL);
        let mut requests = link.subscribe();
        let task = tokio::spawn(async move {
            while let Some(request) = requests.next().await {
                respond(request);
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

/// Accepts a form with a name and the defaults of all other fields.
fn respond(mut request: HostRequest) {
    let outcome = match request.kind() {
        HostRequestKind::Form { .. } => request.accept(object(json!({ "name": "Ada" }))),
        HostRequestKind::Url { .. } => request.consent(),
        HostRequestKind::Sampling { .. } => request.sampled(object(json!({
            "role": "assistant",
            "model": "interop-model",
            "stopReason": "endTurn",
            "content": { "type": "text", "text": "sampled by interop" },
        }))),
        // Dropping a request of another kind declines it.
        _ => Ok(()),
    };
    if let Err(error) = outcome {
        tracing::warn!(%error, "cannot respond to the request");
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}
