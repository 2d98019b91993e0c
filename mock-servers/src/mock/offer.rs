//! Builder methods of tools, replies, rules and faults. They create the types of the script format.

use serde_json::Value;

use crate::{
    faults::FaultDirection,
    script::{Action, Fault, FaultRule, Reply, RpcError, Rule, Tool, When},
};

/// A result with one text block. Its placeholders are filled as in a script: `{{arguments.text}}`.
pub fn text(text: impl Into<String>) -> Reply {
    Reply { text: Some(text.into()), ..Reply::default() }
}

/// A result with structured content, and the same as text.
pub fn structured(value: Value) -> Reply {
    Reply { structured: Some(value), ..Reply::default() }
}

/// A JSON-RPC error.
pub fn error(code: i64, message: impl Into<String>) -> RpcError {
    RpcError { code, message: message.into(), data: None }
}

impl Tool {
    /// A tool with this name and one optional string argument, `text`. Its result contains the arguments.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// The same with this description.
    #[must_use]
    pub fn described(self, description: impl Into<String>) -> Self {
        Self { description: Some(description.into()), ..self }
    }

    /// The same with this JSON Schema of its arguments.
    #[must_use]
    pub fn takes(self, input_schema: Value) -> Self {
        Self { input_schema: Some(input_schema), ..self }
    }

    /// The same with this JSON Schema of its structured content.
    #[must_use]
    pub fn gives(self, output_schema: Value) -> Self {
        Self { output_schema: Some(output_schema), ..self }
    }

    /// The same with this result of calls.
    #[must_use]
    pub fn replies(self, reply: impl Into<Reply>) -> Self {
        Self { reply: Some(reply.into()), ..self }
    }
}

impl When {
    /// Every message of this method.
    pub fn method(method: impl Into<String>) -> Self {
        Self { method: Some(method.into()), ..Self::default() }
    }

    /// Every call of this tool.
    pub fn call(tool: impl Into<String>) -> Self {
        Self { tool: Some(tool.into()), ..Self::method("tools/call") }
    }

    /// Only with these arguments; further ones are allowed. A value that is not an object is ignored.
    #[must_use]
    pub fn with_arguments(self, arguments: Value) -> Self {
        let Value::Object(arguments) = arguments else { return self };
        Self { arguments: Some(arguments), ..self }
    }

    /// Only the n-th of them, counted from 1.
    #[must_use]
    pub fn nth(self, nth: u64) -> Self {
        Self { nth: Some(nth), ..self }
    }

    /// The first action; [`Rule::then`] adds more.
    pub fn then(self, action: impl Into<Action>) -> Rule {
        Rule { when: self, actions: vec![action.into()] }
    }
}

impl Rule {
    /// The next action.
    #[must_use]
    pub fn then(mut self, action: impl Into<Action>) -> Self {
        self.actions.push(action.into());
        self
    }
}

impl FaultRule {
    /// A fault with a name that enables and disables it. It is enabled at the start.
    pub fn named(name: impl Into<String>, fault: Fault) -> Self {
        Self { name: Some(name.into()), ..Self::from(fault) }
    }

    /// The same, disabled at the start.
    #[must_use]
    pub fn off(self) -> Self {
        Self { enabled: false, ..self }
    }

    /// The same for these messages only.
    #[must_use]
    pub fn when(self, when: When) -> Self {
        Self { when, ..self }
    }

    /// The same with this probability: from 0 (never) to 1 (always).
    #[must_use]
    pub fn likely(self, probability: f64) -> Self {
        Self { probability, ..self }
    }

    /// The same for messages from the client, before the server receives them.
    #[must_use]
    pub fn to_server(self) -> Self {
        Self { direction: FaultDirection::ToServer, ..self }
    }
}

impl From<Fault> for FaultRule {
    fn from(fault: Fault) -> Self {
        let (direction, when) = (FaultDirection::default(), When::default());
        Self { name: None, fault, direction, probability: 1.0, when, enabled: true }
    }
}

impl From<Reply> for Action {
    fn from(reply: Reply) -> Self {
        Self::Reply(reply)
    }
}

impl From<RpcError> for Action {
    fn from(error: RpcError) -> Self {
        Self::Error(error)
    }
}

impl From<Fault> for Action {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<&str> for Reply {
    fn from(words: &str) -> Self {
        text(words)
    }
}
