//! The client's responses to the server's requests, as far as a dispatch has them.

mod state;
mod validity;

use serde_json::{Map, Value};

pub(crate) use self::{
    state::{Claim, RequestState, UsedStates},
    validity::{flaw, required_capability},
};

/// What a dispatch knows of the client's answers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Inputs {
    /// Which rule decided, by its position in the script.
    pub(crate) rule: Option<usize>,
    /// Which `request` actions were given up for their `otherwise`: the first by its position in the rule, each further
    /// one by that in the `otherwise` before.
    pub(crate) path: Vec<usize>,
    /// Everything that has been answered, for `{{responses…}}`.
    pub(crate) responses: Value,
    /// What has been answered of the question that is open.
    pub(crate) partial: Map<String, Value>,
    /// What the client brought along with this message.
    pub(crate) offered: Map<String, Value>,
    /// Whether the message takes the open question up again.
    pub(crate) resumed: bool,
    /// Requests of the server's own that are not answered yet.
    pub(crate) waiting: usize,
}

impl Inputs {
    /// Takes in an answer to a request of the server's own; whether it was the last one.
    pub(crate) fn answered(&mut self, key: String, answer: Value) -> bool {
        self.partial.insert(key, answer);
        self.waiting = self.waiting.saturating_sub(1);
        self.waiting == 0
    }

    /// Waits for this many answers.
    pub(crate) fn await_answers(&mut self, count: usize) {
        self.waiting = count;
    }

    /// Makes what has been answered available to the script.
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
