//! Default responses in both eras.

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
    /// The default response and its HTTP status; `None` for messages without a response.
    pub(crate) fn default_response(&mut self, dispatch: &Dispatch) -> Option<(Value, u16)> {
        if let Some(rejection) = &dispatch.rejection {
            // A notification has no response, but over HTTP its rejection has a status and can have a body. Over stdio
            // it is omitted.
            return Some((self.rejection_response(dispatch.request_id(), rejection), rejection.status));
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
            ("completion/complete", _) if self.declares("completions") => self.completion_result(dispatch),
            ("logging/setLevel", Era::Legacy) if self.declares("logging") => self.set_level(dispatch),
            (unknown, _) => Outcome::error(-32601, format!("method not found: {unknown}")),
        }
    }

    fn declares(&self, capability: &str) -> bool {
        self.settings.capabilities.contains_key(capability)
    }

    /// Negotiates the revision: the client's if it is supported, else the newest supported one (lifecycle, version
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

    /// `serverInfo` with the members of a revision.
    pub(crate) fn server_info(&self, features: RevisionFeatures) -> Value {
        let mut info = self.settings.info.clone();
        features.fit_members(SchemaType::Implementation, &mut info);
        Value::Object(info)
    }

    /// `serverInfo` with the members of the newest modern revision.
    pub(crate) fn identity(&self) -> Value {
        self.server_info(RevisionFeatures::new(
            revision::effective_revision(self.settings.support.newest_modern()),
            self.settings.anachronisms,
        ))
    }

    /// The features of a dispatch's revision.
    pub(crate) fn features(&self, dispatch: &Dispatch) -> RevisionFeatures {
        let agreed = self.sessions.negotiated_revision(dispatch.session);
        let revision = self.settings.support.negotiated(dispatch.era, agreed, &dispatch.message);
        RevisionFeatures::new(revision::effective_revision(revision), self.settings.anachronisms)
    }
}
