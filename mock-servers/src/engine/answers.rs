//! The answers of a good server, in both eras.

use serde_json::{Map, Value, json};

use super::{
    Engine, Era,
    actions::http_status,
    exchange::Exchange,
    message::{Outcome, method, param},
    tasks,
};

/// The log levels of RFC 5424, which all revisions use.
pub(crate) const LOG_LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

impl Engine {
    /// The response that a good server gives, and its HTTP status; none to what wants no answer.
    pub(crate) fn default_answer(&mut self, exchange: &Exchange) -> Option<(Value, u16)> {
        if let Some(defect) = &exchange.defect {
            // A notification is never answered, but over HTTP its refusal has a status and may have a body; over stdio
            // the fronts leave it out.
            return Some((self.refusal(exchange.request_id(), defect), defect.status));
        }
        let id = exchange.request_id()?.clone();
        let outcome = self.default_outcome(exchange);
        let status = http_status(exchange.era, &outcome);
        Some((outcome.response(Some(id)), status))
    }

    pub(crate) fn default_outcome(&mut self, exchange: &Exchange) -> Outcome {
        if let Some(outcome) = self.skill_method(exchange) {
            return outcome;
        }
        match (method(&exchange.message), exchange.era) {
            ("initialize", Era::Legacy) => self.initialize(exchange),
            ("ping", Era::Legacy) => Outcome::Result(json!({})),
            ("server/discover", Era::Modern) => self.discover(exchange),
            ("subscriptions/listen", Era::Modern) => Outcome::Result(self.listening_ended(exchange)),
            ("tasks/get" | "tasks/update" | "tasks/cancel", Era::Modern) if self.has_extension(tasks::EXTENSION) => {
                self.modern_task_method(exchange)
            }
            ("tasks/get" | "tasks/result" | "tasks/list" | "tasks/cancel", Era::Legacy)
                if self.serves_tasks(exchange) =>
            {
                self.legacy_task_method(exchange)
            }
            ("tools/call", _) if self.declares("tools") => self.call(exchange),
            ("tools/list", _) if self.declares("tools") => self.list_tools(exchange),
            ("resources/list", _) if self.declares("resources") => self.empty_list(exchange, "resources"),
            ("resources/templates/list", _) if self.declares("resources") => {
                self.empty_list(exchange, "resourceTemplates")
            }
            ("resources/read", _) if self.declares("resources") => no_such_resource(exchange),
            ("resources/subscribe" | "resources/unsubscribe", Era::Legacy) if self.declares("resources") => {
                Outcome::Result(json!({}))
            }
            ("prompts/list", _) if self.declares("prompts") => self.empty_list(exchange, "prompts"),
            ("prompts/get", _) if self.declares("prompts") => Outcome::invalid_params("unknown prompt"),
            ("completion/complete", _) if self.declares("completions") => {
                let members = json!({ "completion": { "values": [] } });
                Outcome::Result(self.complete(exchange, members.as_object().cloned().unwrap_or_default()))
            }
            ("logging/setLevel", Era::Legacy) if self.declares("logging") => set_level(exchange),
            (unknown, _) => Outcome::error(-32601, format!("method not found: {unknown}")),
        }
    }

    fn declares(&self, capability: &str) -> bool {
        self.capabilities.contains_key(capability)
    }

    /// Agrees on a revision: the client's if it is supported, else the newest there is (lifecycle, version
    /// negotiation).
    fn initialize(&mut self, exchange: &Exchange) -> Outcome {
        let Some(asked) = param(&exchange.message, "protocolVersion").and_then(Value::as_str) else {
            return Outcome::invalid_params("`protocolVersion` is missing");
        };
        let known = self.support.has(asked) && Era::of(asked) == Era::Legacy;
        let Some(agreed) = (if known { Some(asked) } else { self.support.newest_legacy() }).map(str::to_owned) else {
            return Outcome::invalid_params("no handshake revision is supported");
        };
        if let Some(session) = exchange.session.and_then(|key| self.sessions.get_mut(&key)) {
            session.revision = Some(agreed.clone());
            session.client_capabilities = param(&exchange.message, "capabilities").cloned();
        }
        let mut result = json!({
            "protocolVersion": agreed,
            "capabilities": self.capabilities_for(&agreed),
            "serverInfo": self.server_info(),
        });
        if let Some(instructions) = &self.instructions {
            result["instructions"] = instructions.clone().into();
        }
        Outcome::Result(result)
    }

    fn call(&mut self, exchange: &Exchange) -> Outcome {
        let Some(name) = param(&exchange.message, "name").and_then(Value::as_str) else {
            return Outcome::invalid_params("`name` is missing");
        };
        if param(&exchange.message, "arguments").is_some_and(|arguments| !arguments.is_object()) {
            return Outcome::invalid_params("`arguments` is no object");
        }
        match self.catalogue.get(name).cloned() {
            Some(tool) => Outcome::Result(self.called(exchange, &tool)),
            None => Outcome::invalid_params(format!("unknown tool: {name}")),
        }
    }

    fn list_tools(&self, exchange: &Exchange) -> Outcome {
        let from = match param(&exchange.message, "cursor") {
            None => Some(0),
            Some(cursor) => cursor.as_str().and_then(|cursor| self.cursors.decode(cursor)),
        };
        // A cursor of ours from before a change may lie behind the end by now: it is as unknown as a foreign one.
        let Some(from) = from.filter(|from| *from == 0 || *from < self.catalogue.len()) else {
            return Outcome::invalid_params("unknown cursor");
        };
        let count = self.page_size.unwrap_or(usize::MAX).max(1);
        let tasks = self.serves_tasks(exchange) && exchange.era == Era::Legacy;
        let next = from.saturating_add(count);
        let mut members = Map::new();
        members.insert("tools".into(), self.catalogue.page(from, count, tasks).into());
        if next < self.catalogue.len() {
            members.insert("nextCursor".into(), self.cursors.encode(next).into());
        }
        Outcome::Result(self.complete(exchange, members))
    }

    fn empty_list(&self, exchange: &Exchange, member: &str) -> Outcome {
        if param(&exchange.message, "cursor").is_some() {
            return Outcome::invalid_params("unknown cursor");
        }
        Outcome::Result(self.complete(exchange, Map::from_iter([(member.to_owned(), json!([]))])))
    }

    pub(crate) fn server_info(&self) -> Value {
        json!({ "name": self.name, "version": env!("CARGO_PKG_VERSION") })
    }
}

/// 2026-07-28 gave up the code of earlier revisions (resources, error handling).
fn no_such_resource(exchange: &Exchange) -> Outcome {
    let code = if exchange.era == Era::Modern { -32602 } else { -32002 };
    let data = param(&exchange.message, "uri").map(|uri| json!({ "uri": uri }));
    Outcome::Error { code, message: "resource not found".into(), data }
}

fn set_level(exchange: &Exchange) -> Outcome {
    match param(&exchange.message, "level").and_then(Value::as_str) {
        Some(level) if LOG_LEVELS.contains(&level) => Outcome::Result(json!({})),
        _ => Outcome::invalid_params("unknown log level"),
    }
}
