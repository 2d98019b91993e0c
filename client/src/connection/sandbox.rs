//! Sends the sandbox state to a server that declares an interest.

use std::time::Duration;

use rmcp::{
    RoleClient,
    model::{ClientRequest, CustomRequest},
    service::{Peer, PeerRequestOptions},
};
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::Connection;
use crate::{
    sandbox::{CAPABILITY, META, SandboxState, UPDATE},
    tracker::RequestTracker,
};

impl Connection {
    /// Sends the sandbox state now and after each change, if the server declares that it needs it.
    pub(super) fn tell_of_sandbox(&self, sandbox: Option<SandboxState>) {
        let tracker = &self.inner.tracker;
        let Some(sandbox) = sandbox.filter(|_| is_asked_for(tracker, CAPABILITY)) else { return };
        let limit = self.timeouts().request;
        tokio::spawn(send_updates(self.inner.peer.clone(), sandbox.watch(), limit, tracker.closed.clone()));
    }

    /// Adds the sandbox state to the parameters of a call.
    pub(crate) fn add_sandbox(&self, params: &mut Map<String, Value>) {
        let Some(state) = self.inner.sandbox.as_ref().map(SandboxState::now) else { return };
        if state.is_null() {
            return;
        }
        let meta = params.entry("_meta").or_insert_with(|| Value::Object(Map::new()));
        if let Some(meta) = meta.as_object_mut() {
            meta.insert(META.to_owned(), state);
        }
    }
}

/// Whether the server declares an experimental capability.
pub(super) fn is_asked_for(tracker: &RequestTracker, capability: &str) -> bool {
    let greeting = tracker.greeting();
    greeting.is_some_and(|greeting| greeting["capabilities"]["experimental"].get(capability).is_some())
}

async fn send_updates(
    peer: Peer<RoleClient>,
    mut sandbox: watch::Receiver<Value>,
    limit: Duration,
    closed: CancellationToken,
) {
    loop {
        let state = sandbox.borrow_and_update().clone();
        if !state.is_null() {
            let request = ClientRequest::CustomRequest(CustomRequest::new(UPDATE, Some(state)));
            // A server that rejects one update still gets the next one.
            match peer.send_request_with_option(request, PeerRequestOptions::with_timeout(limit)).await {
                Ok(handle) => drop(handle.await_response().await),
                Err(error) => tracing::debug!(%error, "failed to send the sandbox state"),
            }
        }
        tokio::select! {
            () = closed.cancelled() => return,
            changed = sandbox.changed() => if changed.is_err() { return },
        }
    }
}
