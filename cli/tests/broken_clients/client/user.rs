//! The simulated user of a case: responses to requests of servers.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde_json::{Map, Value, json};

use super::{
    defect::{Defect, Flaw},
    habit::Habit,
    setup::period,
};

/// The user in `client.user` of the context. Clones share their state.
#[derive(Clone)]
pub(crate) struct User {
    described: Arc<Mutex<Value>>,
    /// How long the user takes to respond.
    delay: Option<Duration>,
    tasks: bool,
    flaw: Flaw,
}

impl User {
    /// `client` is the member of the context.
    pub(crate) fn new(client: &Value, flaw: Flaw) -> Self {
        let has_user = !flaw.has(Habit::DeclaresNothing);
        let described = if has_user { client["user"].clone() } else { Value::Null };
        let delay = period(&described["delay"]);
        Self { described: Arc::new(Mutex::new(described)), delay, tasks: has_user && client["tasks"] == true, flaw }
    }

    /// The same user, whose client declines all forms.
    pub(crate) fn declining(&self) -> Self {
        let mut described = self.described();
        described["form"] = "decline".into();
        Self { described: Arc::new(Mutex::new(described)), ..self.clone() }
    }

    /// Whether the client supports tasks.
    pub(crate) fn has_tasks(&self) -> bool {
        self.tasks
    }

    fn described(&self) -> Value {
        self.described.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How long the user takes to respond to a message.
    pub(crate) fn delay(&self, message: &Value) -> Option<Duration> {
        if self.flaw.is(Defect::AnswersPingsLate) && message["method"] == "ping" {
            return Some(Duration::from_millis(2500));
        }
        let is_for_user = matches!(message["method"].as_str(), Some("elicitation/create" | "sampling/createMessage"));
        self.delay.filter(|_| is_for_user)
    }

    /// The capabilities of a client with this user.
    pub(crate) fn capabilities(&self) -> Value {
        let user = self.described();
        let mut declared = Map::new();
        let modes = ["form", "url"].into_iter().filter(|mode| user.get(mode).is_some());
        let modes: Map<String, Value> = modes.map(|mode| (mode.to_owned(), json!({}))).collect();
        if !modes.is_empty() {
            declared.insert("elicitation".to_owned(), modes.into());
        }
        if user.get("sampling").is_some() {
            declared.insert("sampling".to_owned(), json!({}));
        }
        if user.get("roots").is_some() {
            declared.insert("roots".to_owned(), json!({ "listChanged": true }));
        }
        if self.tasks {
            declared.insert("extensions".to_owned(), json!({ "io.modelcontextprotocol/tasks": {} }));
        }
        declared.into()
    }

    /// Replaces the roots.
    pub(crate) fn set_roots(&self, roots: &Value) {
        if self.flaw.has(Habit::DeclaresNothing) {
            return;
        }
        self.described.lock().unwrap_or_else(PoisonError::into_inner)["roots"] = roots.clone();
    }

    /// The result for a request of a server; `None` without the capability.
    pub(crate) fn answer(&self, method: &str, params: &Value) -> Option<Value> {
        let user = self.described();
        let refuses = self.flaw.is(Defect::RefusesWhatItDeclares)
            || self.flaw.is(Defect::RefusesFormsWithMode) && params["mode"] == "form";
        if refuses {
            return None;
        }
        if self.flaw.is(Defect::AnswersUndeclared) {
            let sampled = json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "yes" } });
            return match method {
                "elicitation/create" => Some(json!({ "action": "accept" })),
                "sampling/createMessage" => Some(sampled),
                "roots/list" => Some(json!({ "roots": [] })),
                _ => None,
            };
        }
        match method {
            "elicitation/create" if params["mode"] == "url" => {
                user["url"].as_str().map(|choice| json!({ "action": choice }))
            }
            "elicitation/create" => user.get("form").map(|choice| self.form(choice, &params["requestedSchema"])),
            "sampling/createMessage" if has_mixed_results(params) && !self.flaw.is(Defect::AnswersMixedResults) => None,
            "sampling/createMessage" if ["tools", "toolChoice"].iter().all(|key| params.get(key).is_none()) => {
                let text = user["sampling"].as_str()?;
                let role = if self.flaw.is(Defect::SpeaksAsTheUser) { "user" } else { "assistant" };
                let content = json!({ "type": "text", "text": text });
                Some(json!({ "role": role, "model": "model", "stopReason": "endTurn", "content": content }))
            }
            "roots/list" => user.get("roots").map(|roots| json!({ "roots": roots })),
            _ => None,
        }
    }

    /// The code of the error for a request without a result.
    pub(crate) fn rejection(&self, method: &str) -> i64 {
        let feature = method.split('/').next().unwrap_or_default();
        // 2025-11-25, client/elicitation, error handling: a mode that was not declared.
        if self.capabilities().get(feature).is_some() { -32602 } else { -32601 }
    }

    fn form(&self, choice: &Value, schema: &Value) -> Value {
        let accepted = choice.get("accept").cloned();
        let accepted = accepted.or_else(|| self.flaw.is(Defect::AcceptsForTheUser).then(|| json!({})));
        let Some(mut content) = accepted else {
            return json!({ "action": if choice == "cancel" { "cancel" } else { "decline" } });
        };
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            if let (Some(default), None) = (field.get("default"), content.get(name))
                && !self.flaw.is(Defect::LeavesOutDefaults)
            {
                content[name] = default.clone();
            }
        }
        let options = jsonschema::draft202012::options().should_validate_formats(true);
        let is_valid = options.build(schema).is_ok_and(|validator| validator.is_valid(&content));
        let sends_anyway = self.flaw.is(Defect::SendsInvalidValues) || self.flaw.is(Defect::AcceptsForTheUser);
        if !is_valid && !sends_anyway {
            return json!({ "action": "cancel" });
        }
        json!({ "action": "accept", "content": content })
    }
}

/// Whether a message has tool results and other content (2025-11-25, client/sampling, error handling).
fn has_mixed_results(params: &Value) -> bool {
    let messages = params["messages"].as_array().into_iter().flatten();
    let contents = messages.filter_map(|message| message["content"].as_array());
    contents.into_iter().any(|blocks| {
        let results = blocks.iter().filter(|block| block["type"] == "tool_result").count();
        results > 0 && results < blocks.len()
    })
}
