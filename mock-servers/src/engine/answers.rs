//! The answers of a good server, in both eras.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    Engine, Era, MODERN, Session, SessionKey, Support,
    actions::http_status,
    catalogue::List,
    dialect::{Dialect, Shape},
    exchange::Exchange,
    message::{Outcome, method, param},
    requested_version, tasks,
};

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
            ("tools/list", _) if self.declares("tools") => self.list(exchange, List::Tools),
            ("resources/list", _) if self.declares("resources") => self.list(exchange, List::Resources),
            ("resources/templates/list", _) if self.declares("resources") => {
                self.list(exchange, List::ResourceTemplates)
            }
            ("resources/read", _) if self.declares("resources") => self.read(exchange),
            ("resources/subscribe" | "resources/unsubscribe", Era::Legacy) if self.declares("resources") => {
                self.subscribe(exchange)
            }
            ("prompts/list", _) if self.declares("prompts") => self.list(exchange, List::Prompts),
            ("prompts/get", _) if self.declares("prompts") => self.get_prompt(exchange),
            ("completion/complete", _) if self.declares("completions") => self.completed(exchange),
            ("logging/setLevel", Era::Legacy) if self.declares("logging") => self.set_level(exchange),
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
        let dialect = Dialect::new(&agreed, self.anachronisms);
        let mut result = json!({
            "protocolVersion": agreed,
            "capabilities": self.capabilities_for(&agreed),
            "serverInfo": self.server_info(dialect),
        });
        if let Some(instructions) = &self.instructions {
            result["instructions"] = instructions.clone().into();
        }
        Outcome::Result(result)
    }

    /// What the server says of itself, in the words of the revision spoken.
    pub(crate) fn server_info(&self, dialect: Dialect<'_>) -> Value {
        let mut info = self.info.clone();
        dialect.fit_members(Shape::Implementation, &mut info);
        Value::Object(info)
    }

    /// The same, in the words of 2026-07-28.
    pub(crate) fn identity(&self) -> Value {
        self.server_info(Dialect::new(MODERN, self.anachronisms))
    }

    /// The revision in which an exchange is spoken, as far as it decides what is said.
    pub(crate) fn dialect<'a>(&'a self, exchange: &'a Exchange) -> Dialect<'a> {
        let revision = spoken(&self.support, &self.sessions, exchange.era, exchange.session, &exchange.message);
        Dialect::new(revision, self.anachronisms)
    }
}

/// The revision in which a message is spoken: the one that it names itself, or that its session has agreed on.
pub(crate) fn spoken<'a>(
    support: &'a Support,
    sessions: &'a BTreeMap<SessionKey, Session>,
    era: Era,
    session: Option<SessionKey>,
    message: &'a Value,
) -> &'a str {
    let revision = match era {
        Era::Modern => requested_version(message).filter(|version| Era::of(version) == Era::Modern),
        Era::Legacy => {
            let agreed = session.and_then(|key| sessions.get(&key)?.revision.as_deref());
            agreed.or_else(|| support.newest_legacy())
        }
    };
    revision.unwrap_or(MODERN)
}
