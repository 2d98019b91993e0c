//! Telling a server of the sandbox, if it asks for that.

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
    /// Tells the server of the sandbox now and at each change, if it wants to know.
    pub(super) fn tell_of_sandbox(&self) {
        let Some(sandbox) = self.inner.sandbox.as_ref().filter(|_| self.is_asked_for(CAPABILITY)) else { return };
        let limit = self.timeouts().request;
        tokio::spawn(tell(self.inner.peer.clone(), sandbox.watch(), limit, self.inner.ledger.over.clone()));
    }

    /// Enters the sandbox in the parameters of a call, if the server wants it there.
    pub(crate) fn add_sandbox(&self, params: &mut Map<String, Value>) {
        let Some(sandbox) = self.inner.sandbox.as_ref().filter(|_| self.is_asked_for(META)) else { return };
        let meta = params.entry("_meta").or_insert_with(|| Value::Object(Map::new()));
        if let Some(meta) = meta.as_object_mut() {
            meta.insert(META.to_owned(), sandbox.now());
        }
    }

    fn is_asked_for(&self, capability: &str) -> bool {
        let declared = |greeting: Value| greeting.get("capabilities")?.get("experimental")?.get(capability).cloned();
        self.greeting().and_then(declared).is_some()
    }
}

async fn tell(peer: Peer<RoleClient>, mut sandbox: watch::Receiver<Value>, limit: Duration, over: CancellationToken) {
    loop {
        let state = sandbox.borrow_and_update().clone();
        let request = ClientRequest::CustomRequest(CustomRequest::new(UPDATE, Some(state)));
        // A server that refuses to be told once is told again at the next change.
        match peer.send_request_with_option(request, PeerRequestOptions::with_timeout(limit)).await {
            Ok(handle) => drop(handle.await_response().await),
            Err(error) => tracing::debug!(%error, "the server was not told of the sandbox"),
        }
        tokio::select! {
            () = over.cancelled() => return,
            changed = sandbox.changed() => if changed.is_err() { return },
        }
    }
}
