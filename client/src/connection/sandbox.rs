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
use crate::sandbox::{CAPABILITY, META, UPDATE};

impl Connection {
    /// Sends the sandbox state now and after each change.
    pub(super) fn tell_of_sandbox(&self) {
        let Some(sandbox) = self.inner.sandbox.as_ref().filter(|_| self.is_asked_for(CAPABILITY)) else { return };
        let limit = self.timeouts().request;
        tokio::spawn(send_updates(self.inner.peer.clone(), sandbox.watch(), limit, self.inner.tracker.closed.clone()));
    }

    /// Adds the sandbox state to the parameters of a call.
    pub(crate) fn add_sandbox(&self, params: &mut Map<String, Value>) {
        let Some(sandbox) = self.inner.sandbox.as_ref().filter(|_| self.is_asked_for(META)) else { return };
        let state = sandbox.now();
        if state.is_null() {
            return;
        }
        let meta = params.entry("_meta").or_insert_with(|| Value::Object(Map::new()));
        if let Some(meta) = meta.as_object_mut() {
            meta.insert(META.to_owned(), state);
        }
    }

    fn is_asked_for(&self, capability: &str) -> bool {
        let declared = |greeting: Value| greeting.get("capabilities")?.get("experimental")?.get(capability).cloned();
        self.greeting().and_then(declared).is_some()
    }
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
