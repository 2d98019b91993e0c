//! Notifications of change: to every legacy session, and to the modern streams that asked for them.

use serde_json::{Map, Value, json};

use super::{
    Engine, Era, Output, Step, Target,
    exchange::{Exchange, State},
    message::{Outcome, outgoing, param},
    tasks::extension_missing,
};

const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// A stream of changes that a client has open (2026-07-28, subscriptions).
#[derive(Debug, Clone)]
pub(crate) struct Listener {
    /// The id of the `subscriptions/listen` request.
    id: Value,
    /// What the server agreed to send.
    filter: Map<String, Value>,
}

impl Listener {
    fn wants(&self, method: &str, params: Option<&Value>) -> bool {
        let on = |name| self.filter.get(name) == Some(&Value::Bool(true));
        match method {
            "notifications/tools/list_changed" => on("toolsListChanged"),
            "notifications/prompts/list_changed" => on("promptsListChanged"),
            "notifications/resources/list_changed" => on("resourcesListChanged"),
            "notifications/resources/updated" => {
                let uris = self.filter.get("resourceSubscriptions").and_then(Value::as_array);
                uris.zip(params.and_then(|params| params.get("uri"))).is_some_and(|(uris, uri)| uris.contains(uri))
            }
            _ => false,
        }
    }
}

/// Whether a notification belongs on such streams.
pub(crate) fn is_change(method: &str) -> bool {
    matches!(
        method,
        "notifications/tools/list_changed"
            | "notifications/prompts/list_changed"
            | "notifications/resources/list_changed"
            | "notifications/resources/updated"
    )
}

impl Engine {
    /// Opens a stream: the acknowledgement names what of the wish is granted, and is the first message on it.
    pub(crate) fn listen(&mut self, exchange: &mut Exchange, out: &mut Vec<Output>) {
        let Some(id) = exchange.request_id().cloned() else { return };
        let Some(wished) = param(&exchange.message, "notifications").and_then(Value::as_object) else {
            return self.answer(exchange, Outcome::invalid_params("`notifications` is no object"), out);
        };
        let of_tasks = wished.contains_key("taskIds") && self.has_task_extension();
        if of_tasks && !self.declares_task_extension(exchange) {
            // SEP-2663, task status notifications.
            return self.answer(exchange, extension_missing().into(), out);
        }
        let mut filter: Map<String, Value> = wished
            .iter()
            .filter(|(name, wish)| self.grants(name) && (*wish == &Value::Bool(true) || wish.is_array()))
            .map(|(name, wish)| (name.clone(), wish.clone()))
            .collect();
        if let Some(ids) = wished.get("taskIds").and_then(Value::as_array).filter(|_| of_tasks) {
            let known = ids.iter().filter(|id| id.as_str().is_some_and(|id| self.tasks.knows(id)));
            filter.insert("taskIds".into(), known.cloned().collect());
        }
        let params = json!({ "_meta": { SUBSCRIPTION_KEY: id }, "notifications": filter });
        exchange.push(out, Step::Send(outgoing(None, "notifications/subscriptions/acknowledged", Some(params))));
        self.listeners.insert(exchange.id, Listener { id, filter });
        exchange.state = State::Held;
    }

    fn grants(&self, wish: &str) -> bool {
        let (area, ability) = match wish {
            "toolsListChanged" => ("tools", "listChanged"),
            "promptsListChanged" => ("prompts", "listChanged"),
            "resourcesListChanged" => ("resources", "listChanged"),
            "resourceSubscriptions" => ("resources", "subscribe"),
            _ => return false,
        };
        self.capabilities.get(area).and_then(|area| area.get(ability)) == Some(&Value::Bool(true))
    }

    /// Ends every stream of changes in good order, as a server does that shuts down.
    pub fn end_subscriptions(&mut self) -> Vec<Output> {
        let mut out = Vec::new();
        for id in std::mem::take(&mut self.listeners).into_keys() {
            let Some(mut exchange) = self.take(id) else { continue };
            let result = self.listening_ended(&exchange);
            self.answer(&mut exchange, Outcome::Result(result), &mut out);
            exchange.push(&mut out, Step::End);
        }
        out
    }

    /// The result that ends a stream in good order (subscriptions, graceful closure).
    pub(crate) fn listening_ended(&self, exchange: &Exchange) -> Value {
        let mut result = self.complete(exchange, Map::new());
        result["_meta"][SUBSCRIPTION_KEY] = exchange.request_id().cloned().unwrap_or_default();
        result
    }

    /// Tells the modern streams that asked about a task how it stands.
    pub(crate) fn tell_listeners_of_task(&mut self, id: &str, params: &Value) {
        for (exchange, listener) in &self.listeners {
            let asked = listener.filter.get("taskIds").and_then(Value::as_array);
            if !asked.is_some_and(|ids| ids.iter().any(|one| one == id)) {
                continue;
            }
            let mut params = params.clone();
            params["_meta"] = json!({ SUBSCRIPTION_KEY: listener.id });
            let message = outgoing(None, "notifications/tasks", Some(params));
            self.asides.push(Output::new(Target::Exchange(*exchange), Step::Send(message)));
        }
    }

    /// Tells everyone who may be told.
    pub(crate) fn announce(&self, method: &str, params: Option<Value>, out: &mut Vec<Output>) {
        for (key, session) in &self.sessions {
            if session.revision.as_deref().is_some_and(|revision| Era::of(revision) == Era::Legacy) {
                let message = outgoing(None, method, params.clone());
                out.push(Output::new(Target::Session(*key), Step::Send(message)));
            }
        }
        self.announce_modern(method, params, out);
    }

    /// Tells the modern streams that asked for it.
    pub(crate) fn announce_modern(&self, method: &str, params: Option<Value>, out: &mut Vec<Output>) {
        for (exchange, listener) in &self.listeners {
            if !listener.wants(method, params.as_ref()) {
                continue;
            }
            let mut params = params.clone().filter(Value::is_object).unwrap_or_else(|| json!({}));
            if !params["_meta"].is_object() {
                params["_meta"] = json!({});
            }
            params["_meta"][SUBSCRIPTION_KEY] = listener.id.clone();
            let message = outgoing(None, method, Some(params));
            out.push(Output::new(Target::Exchange(*exchange), Step::Send(message)));
        }
    }
}
