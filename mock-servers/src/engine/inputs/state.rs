//! Contents of `requestState`, and the used states.

use std::collections::{HashSet, VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::engine::{
    message::{method, param},
    sealed::digest,
};

/// Maximum number of stored used states. An older state can be used again, which a limit on memory costs.
const MAX_USED: usize = 10_000;

/// The state of a retry besides its request.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RequestState {
    /// A unique number.
    pub(crate) number: u64,
    pub(crate) request: Claim,
    /// The rule.
    pub(crate) rule: usize,
    /// The `request` actions that were replaced by their `otherwise`, each by its index in the one before.
    pub(crate) path: Vec<usize>,
    /// The index of the action there.
    pub(crate) at: usize,
    pub(crate) nth: u64,
    /// The responses to earlier actions.
    pub(crate) responses: Value,
    /// The responses to this action so far.
    pub(crate) partial: Map<String, Value>,
    /// The expiry, in milliseconds of the engine's clock.
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

/// Identity of the request that a state belongs to: the method, and a digest of the identifying parameters (2026-07-28,
/// multi round-trip requests, server requirements).
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Claim {
    method: String,
    about: String,
}

impl Claim {
    pub(crate) fn new(message: &Value) -> Self {
        let name = param(message, "name").or_else(|| param(message, "uri"));
        let arguments = param(message, "arguments").filter(|arguments| !is_empty(arguments));
        let about = Value::from(vec![sorted(name), sorted(arguments)]).to_string();
        Self { method: method(message).to_owned(), about: digest(about.as_bytes()) }
    }
}

/// Absent arguments equal an empty object.
fn is_empty(arguments: &Value) -> bool {
    arguments.as_object().is_some_and(Map::is_empty)
}

/// The value with sorted members, because a client can reorder them in its retry.
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

/// The used states of those that can be used once.
#[derive(Debug, Clone, Default)]
pub(crate) struct UsedStates {
    numbers: HashSet<u64>,
    order: VecDeque<u64>,
}

impl UsedStates {
    /// Uses a state; false if it has been used before.
    pub(crate) fn mark_used(&mut self, number: u64) -> bool {
        if !self.numbers.insert(number) {
            return false;
        }
        self.order.push_back(number);
        if self.order.len() > MAX_USED
            && let Some(oldest) = self.order.pop_front()
        {
            self.numbers.remove(&oldest);
        }
        true
    }
}
