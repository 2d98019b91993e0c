//! Change notifications: to all legacy sessions, and to modern streams that requested them.

use serde_json::{Map, Value, json};

use super::{
    Engine, Era, Output, Step, Target,
    dispatch::{Dispatch, State},
    message::{Outcome, outgoing, param},
    revision,
    tasks::extension_missing,
};

const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// An open stream of changes (2026-07-28, subscriptions).
#[derive(Debug, Clone)]
pub(crate) struct Listener {
    /// The id of the `subscriptions/listen` request.
    id: Value,
    /// The granted notifications.
    filter: Map<String, Value>,
}

impl Listener {
    fn includes(&self, method: &str, params: Option<&Value>) -> bool {
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

/// Whether such streams can contain a notification.
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
    /// Opens a stream. Its first message is the acknowledgement with the granted notifications.
    pub(crate) fn listen(&mut self, dispatch: &mut Dispatch, out: &mut Vec<Output>) {
        let Some(id) = dispatch.request_id().cloned() else { return };
        let Some(wished) = param(&dispatch.message, "notifications").and_then(Value::as_object) else {
            return self.respond(dispatch, Outcome::invalid_params("`notifications` is not an object"), out);
        };
        let of_tasks = wished.contains_key("taskIds") && self.has_task_extension();
        if of_tasks && !self.declares_task_extension(dispatch) {
            // SEP-2663, task status notifications.
            return self.respond(dispatch, extension_missing().into(), out);
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
        dispatch.push(out, Step::Send(outgoing(None, "notifications/subscriptions/acknowledged", Some(params))));
        self.listeners.insert(dispatch.id, Listener { id, filter });
        dispatch.state = State::Held;
    }

    fn grants(&self, wish: &str) -> bool {
        let (area, ability) = match wish {
            "toolsListChanged" => ("tools", "listChanged"),
            "promptsListChanged" => ("prompts", "listChanged"),
            "resourcesListChanged" => ("resources", "listChanged"),
            "resourceSubscriptions" => ("resources", "subscribe"),
            _ => return false,
        };
        self.settings.capabilities.get(area).and_then(|area| area.get(ability)) == Some(&Value::Bool(true))
    }

    /// Ends all streams of changes with a response, as in a graceful shutdown.
    pub fn end_subscriptions(&mut self) -> Vec<Output> {
        let mut out = Vec::new();
        for id in std::mem::take(&mut self.listeners).into_keys() {
            let Some(mut dispatch) = self.take(id) else { continue };
            let result = self.listening_ended(&dispatch);
            self.respond(&mut dispatch, Outcome::Result(result), &mut out);
            dispatch.push(&mut out, Step::End);
        }
        out
    }

    /// The result at the end of a stream (subscriptions, graceful closure).
    pub(crate) fn listening_ended(&self, dispatch: &Dispatch) -> Value {
        let mut result = self.complete(dispatch, Map::new());
        result["_meta"][SUBSCRIPTION_KEY] = dispatch.request_id().cloned().unwrap_or_default();
        result
    }

    /// Sends the status of a task to the modern streams that requested it.
    pub(crate) fn notify_task_listeners(&mut self, id: &str, params: &Value) {
        for (dispatch, listener) in &self.listeners {
            let asked = listener.filter.get("taskIds").and_then(Value::as_array);
            if !asked.is_some_and(|ids| ids.iter().any(|one| one == id)) {
                continue;
            }
            let mut params = params.clone();
            params["_meta"] = json!({ SUBSCRIPTION_KEY: listener.id });
            let message = outgoing(None, "notifications/tasks", Some(params));
            self.background.outputs.push(Output::new(Target::Dispatch(*dispatch), Step::Send(message)));
        }
    }

    /// Sends a notification to all legacy sessions, and to the modern streams that requested it.
    pub(crate) fn announce(&self, method: &str, params: Option<Value>, out: &mut Vec<Output>) {
        for (key, session) in &self.sessions.open {
            if session.revision.as_deref().is_some_and(|revision| revision::era(revision) == Era::Legacy) {
                let message = outgoing(None, method, params.clone());
                out.push(Output::new(Target::Session(*key), Step::Send(message)));
            }
        }
        self.announce_modern(method, params, out);
    }

    /// Sends a notification to the modern streams that requested it.
    pub(crate) fn announce_modern(&self, method: &str, params: Option<Value>, out: &mut Vec<Output>) {
        for (dispatch, listener) in &self.listeners {
            if !listener.includes(method, params.as_ref()) {
                continue;
            }
            let mut params = params.clone().filter(Value::is_object).unwrap_or_else(|| json!({}));
            if !params["_meta"].is_object() {
                params["_meta"] = json!({});
            }
            params["_meta"][SUBSCRIPTION_KEY] = listener.id.clone();
            let message = outgoing(None, method, Some(params));
            out.push(Output::new(Target::Dispatch(*dispatch), Step::Send(message)));
        }
    }
}
