//! Subscriptions to resources.

use serde_json::{Value, json};

use super::{
    Engine, Output, Step, Target,
    dispatch::Dispatch,
    message::{Outcome, RESOURCE_UPDATED, method, outgoing, param},
};

/// Maximum number of subscriptions per session, so that a client cannot exhaust the memory.
const MAX_SUBSCRIPTIONS: usize = 10_000;

impl Engine {
    /// `resources/subscribe` and `resources/unsubscribe` (2024-11-05 to 2025-11-25, resources, subscriptions).
    pub(crate) fn subscribe(&mut self, dispatch: &Dispatch) -> Outcome {
        let Some(uri) = param(&dispatch.message, "uri").and_then(Value::as_str) else {
            return Outcome::invalid_params("`uri` is missing");
        };
        let Some(session) = dispatch.session.and_then(|key| self.sessions.open.get_mut(&key)) else {
            return Outcome::Result(json!({}));
        };
        if method(&dispatch.message) == "resources/unsubscribe" {
            session.subscriptions.remove(uri);
        } else if session.subscriptions.len() < MAX_SUBSCRIPTIONS {
            session.subscriptions.insert(uri.to_owned());
        } else {
            return Outcome::error(-32603, format!("no more than {MAX_SUBSCRIPTIONS} subscriptions"));
        }
        Outcome::Result(json!({}))
    }

    /// Notifies all subscribers of a resource, in the form of their era.
    pub(crate) fn notify_updated(&self, params: &Value, out: &mut Vec<Output>) {
        let uri = params.get("uri").and_then(Value::as_str).unwrap_or_default();
        for (key, session) in &self.sessions.open {
            if session.subscriptions.contains(uri) {
                let message = outgoing(None, RESOURCE_UPDATED, Some(params.clone()));
                out.push(Output::new(Target::Session(*key), Step::Send(message)));
            }
        }
        self.announce_modern(RESOURCE_UPDATED, Some(params.clone()), out);
    }
}
