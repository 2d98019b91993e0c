//! Who is told that a resource has changed.

use serde_json::{Value, json};

use super::{
    Engine, Output, Step, Target,
    exchange::Exchange,
    message::{Outcome, method, outgoing, param},
};

/// How many subscriptions a session may have, so that a client cannot eat the memory.
const MOST_SUBSCRIPTIONS: usize = 10_000;

pub(crate) const UPDATED: &str = "notifications/resources/updated";

impl Engine {
    /// `resources/subscribe` and `resources/unsubscribe` (2024-11-05 to 2025-11-25, resources, subscriptions).
    pub(crate) fn subscribe(&mut self, exchange: &Exchange) -> Outcome {
        let Some(uri) = param(&exchange.message, "uri").and_then(Value::as_str) else {
            return Outcome::invalid_params("`uri` is missing");
        };
        let Some(session) = exchange.session.and_then(|key| self.sessions.get_mut(&key)) else {
            return Outcome::Result(json!({}));
        };
        if method(&exchange.message) == "resources/unsubscribe" {
            session.subscriptions.remove(uri);
        } else if session.subscriptions.len() < MOST_SUBSCRIPTIONS {
            session.subscriptions.insert(uri.to_owned());
        } else {
            return Outcome::error(-32603, format!("no more than {MOST_SUBSCRIPTIONS} subscriptions"));
        }
        Outcome::Result(json!({}))
    }

    /// Tells everyone who has subscribed to a resource, in the way of their era, that it has changed.
    pub(crate) fn tell_updated(&self, params: &Value, out: &mut Vec<Output>) {
        let uri = params.get("uri").and_then(Value::as_str).unwrap_or_default();
        for (key, session) in &self.sessions {
            if session.subscriptions.contains(uri) {
                let message = outgoing(None, UPDATED, Some(params.clone()));
                out.push(Output::new(Target::Session(*key), Step::Send(message)));
            }
        }
        self.announce_modern(UPDATED, Some(params.clone()), out);
    }
}
