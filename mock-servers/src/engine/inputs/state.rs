//! What a `requestState` says, and which of them have been used.

use std::collections::{HashSet, VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::engine::{
    message::{method, param},
    sealed::digest,
};

/// How many used states are remembered. One that is older may be used again, which a bound on memory costs.
const MOST_SPENT: usize = 10_000;

/// Everything that a retry needs besides the request itself.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RequestState {
    /// No two states are the same, even if they say the same.
    pub(crate) number: u64,
    pub(crate) request: Claim,
    /// Which rule asked.
    pub(crate) rule: usize,
    /// Which of its requests were given up for their `otherwise`, each by its position in the one before.
    pub(crate) path: Vec<usize>,
    /// Which of the actions there asked.
    pub(crate) at: usize,
    pub(crate) nth: u64,
    /// What earlier questions were answered with.
    pub(crate) responses: Value,
    /// What of this question has been answered.
    pub(crate) partial: Map<String, Value>,
    /// When it expires, in milliseconds of the server's own time.
    pub(crate) expires: Option<u64>,
    pub(crate) once: bool,
}

impl RequestState {
    pub(crate) fn write(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a structure of JSON values and numbers is JSON")
    }

    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }
}

/// Which request a state belongs to: the method, and a digest of the parameters that make it what it is (2026-07-28,
/// multi round-trip requests, server requirements).
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Claim {
    method: String,
    about: String,
}

impl Claim {
    pub(crate) fn of(message: &Value) -> Self {
        let name = param(message, "name").or_else(|| param(message, "uri"));
        let arguments = param(message, "arguments").filter(|arguments| !is_empty(arguments));
        let about = Value::from(vec![sorted(name), sorted(arguments)]).to_string();
        Self { method: method(message).to_owned(), about: digest(about.as_bytes()) }
    }
}

/// No arguments are as good as an empty object of them.
fn is_empty(arguments: &Value) -> bool {
    arguments.as_object().is_some_and(Map::is_empty)
}

/// The value with its members in order: a client may write them in another one on its retry.
fn sorted(value: Option<&Value>) -> Value {
    match value {
        Some(Value::Object(members)) => {
            let mut names: Vec<_> = members.keys().collect();
            names.sort();
            names.into_iter().map(|name| (name.clone(), sorted(members.get(name)))).collect()
        }
        Some(Value::Array(items)) => items.iter().map(|item| sorted(Some(item))).collect(),
        Some(other) => other.clone(),
        None => Value::Null,
    }
}

/// The states for one use that have had it.
#[derive(Debug, Clone, Default)]
pub(crate) struct UsedStates {
    numbers: HashSet<u64>,
    order: VecDeque<u64>,
}

impl UsedStates {
    /// Uses a state; false if it has been used before.
    pub(crate) fn spend(&mut self, number: u64) -> bool {
        if !self.numbers.insert(number) {
            return false;
        }
        self.order.push_back(number);
        if self.order.len() > MOST_SPENT
            && let Some(oldest) = self.order.pop_front()
        {
            self.numbers.remove(&oldest);
        }
        true
    }
}
