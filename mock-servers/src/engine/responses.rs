//! The answers of a good server, in both eras.

use serde_json::{Value, json};

use super::{
    Engine, Era,
    dispatch::Dispatch,
    features::{RevisionFeatures, SchemaType},
    message::{Outcome, method, param},
    revision,
    server_lists::List,
    tasks,
};

impl Engine {
    /// The response that a good server gives, and its HTTP status; none to what wants no answer.
    pub(crate) fn default_answer(&mut self, dispatch: &Dispatch) -> Option<(Value, u16)> {
        if let Some(rejection) = &dispatch.rejection {
            // A notification is never answered, but over HTTP its refusal has a status and may have a body; over stdio
            // the fronts leave it out.
            return Some((self.refusal(dispatch.request_id(), rejection), rejection.status));
        }
        let id = dispatch.request_id()?.clone();
        let outcome = self.default_outcome(dispatch);
        let status = outcome.http_status(dispatch.era);
        Some((outcome.response(Some(id)), status))
    }

    pub(crate) fn default_outcome(&mut self, dispatch: &Dispatch) -> Outcome {
        if let Some(outcome) = self.skill_method(dispatch) {
            return outcome;
        }
        match (method(&dispatch.message), dispatch.era) {
            ("initialize", Era::Legacy) => self.initialize(dispatch),
            ("ping", Era::Legacy) => Outcome::Result(json!({})),
            ("server/discover", Era::Modern) => self.discover(dispatch),
            ("subscriptions/listen", Era::Modern) => Outcome::Result(self.listening_ended(dispatch)),
            ("tasks/get" | "tasks/update" | "tasks/cancel", Era::Modern) if self.has_extension(tasks::EXTENSION) => {
                self.modern_task_method(dispatch)
            }
            ("tasks/get" | "tasks/result" | "tasks/list" | "tasks/cancel", Era::Legacy)
                if self.serves_tasks(dispatch) =>
            {
                self.legacy_task_method(dispatch)
            }
            ("tools/call", _) if self.declares("tools") => self.call(dispatch),
            ("tools/list", _) if self.declares("tools") => self.list(dispatch, List::Tools),
            ("resources/list", _) if self.declares("resources") => self.list(dispatch, List::Resources),
            ("resources/templates/list", _) if self.declares("resources") => {
                self.list(dispatch, List::ResourceTemplates)
            }
            ("resources/read", _) if self.declares("resources") => self.read(dispatch),
            ("resources/subscribe" | "resources/unsubscribe", Era::Legacy) if self.declares("resources") => {
                self.subscribe(dispatch)
            }
            ("prompts/list", _) if self.declares("prompts") => self.list(dispatch, List::Prompts),
            ("prompts/get", _) if self.declares("prompts") => self.get_prompt(dispatch),
            ("completion/complete", _) if self.declares("completions") => self.completed(dispatch),
            ("logging/setLevel", Era::Legacy) if self.declares("logging") => self.set_level(dispatch),
            (unknown, _) => Outcome::error(-32601, format!("method not found: {unknown}")),
        }
    }

    fn declares(&self, capability: &str) -> bool {
        self.settings.capabilities.contains_key(capability)
    }

    /// Agrees on a revision: the client's if it is supported, else the newest there is (lifecycle, version
    /// negotiation).
    fn initialize(&mut self, dispatch: &Dispatch) -> Outcome {
        let Some(asked) = param(&dispatch.message, "protocolVersion").and_then(Value::as_str) else {
            return Outcome::invalid_params("`protocolVersion` is missing");
        };
        let known = self.settings.support.has(asked) && revision::era(asked) == Era::Legacy;
        let Some(agreed) = (if known { Some(asked) } else { self.settings.support.newest_legacy() }).map(str::to_owned)
        else {
            return Outcome::invalid_params("no handshake revision is supported");
        };
        if let Some(session) = dispatch.session.and_then(|key| self.sessions.open.get_mut(&key)) {
            session.revision = Some(agreed.clone());
            session.client_capabilities = param(&dispatch.message, "capabilities").cloned();
        }
        let features = RevisionFeatures::new(revision::effective_revision(&agreed), self.settings.anachronisms);
        let mut result = json!({
            "protocolVersion": agreed,
            "capabilities": self.capabilities_for(&agreed),
            "serverInfo": self.server_info(features),
        });
        if let Some(instructions) = &self.settings.instructions {
            result["instructions"] = instructions.clone().into();
        }
        Outcome::Result(result)
    }

    /// What the server says of itself, in the words of the revision spoken.
    pub(crate) fn server_info(&self, features: RevisionFeatures) -> Value {
        let mut info = self.settings.info.clone();
        features.fit_members(SchemaType::Implementation, &mut info);
        Value::Object(info)
    }

    /// The same, in the words of 2026-07-28.
    pub(crate) fn identity(&self) -> Value {
        self.server_info(RevisionFeatures::new(
            revision::effective_revision(self.settings.support.newest_modern()),
            self.settings.anachronisms,
        ))
    }

    /// The revision in which a dispatch is spoken, as far as it decides what is said.
    pub(crate) fn features(&self, dispatch: &Dispatch) -> RevisionFeatures {
        let agreed = self.sessions.agreed_revision(dispatch.session);
        let revision = self.settings.support.negotiated(dispatch.era, agreed, &dispatch.message);
        RevisionFeatures::new(revision::effective_revision(revision), self.settings.anachronisms)
    }
}
