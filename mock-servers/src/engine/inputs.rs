//! The client's responses to the server's requests, as far as a dispatch has them.

mod state;
mod validity;

use serde_json::{Map, Value};

pub(crate) use self::{
    state::{Claim, RequestState, UsedStates},
    validity::{required_capability, response_error},
};

/// The client's responses in one dispatch.
#[derive(Debug, Clone, Default)]
pub(crate) struct Inputs {
    /// The index of the rule in the script.
    pub(crate) rule: Option<usize>,
    /// The `request` actions that were replaced by their `otherwise`: the index of the first in the rule, of each
    /// further one in the `otherwise` before.
    pub(crate) path: Vec<usize>,
    /// All responses, for `{{responses…}}`.
    pub(crate) responses: Value,
    /// The responses to the current `ask` action.
    pub(crate) partial: Map<String, Value>,
    /// The responses in this message.
    pub(crate) offered: Map<String, Value>,
    /// Whether the message is a retry of the current `ask` action.
    pub(crate) resumed: bool,
    /// The number of the server's requests without a response.
    pub(crate) waiting: usize,
}

impl Inputs {
    /// Adds a response to a request of the server; returns whether it was the last one.
    pub(crate) fn add_response(&mut self, key: String, answer: Value) -> bool {
        self.partial.insert(key, answer);
        self.waiting = self.waiting.saturating_sub(1);
        self.waiting == 0
    }

    /// Waits for this number of responses.
    pub(crate) fn await_responses(&mut self, count: usize) {
        self.waiting = count;
    }

    /// Makes the responses available to placeholders; returns the only one.
    pub(crate) fn conclude(&mut self) -> Option<Value> {
        let answers = std::mem::take(&mut self.partial);
        let sole = (answers.len() == 1).then(|| answers.values().next().cloned()).flatten();
        self.keep(answers);
        sole
    }

    fn keep(&mut self, answers: Map<String, Value>) {
        match &mut self.responses {
            Value::Object(responses) => responses.extend(answers),
            responses => *responses = Value::Object(answers),
        }
    }
}
