//! Faults that rewrite messages at JSON Pointers, and their layout.

use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{FaultHooks, ParameterProblem};
use crate::one_or_many;

/// Rewrites the JSON of messages: copies, sets, repeats and removes values at JSON Pointers (RFC 6901), in this order.
/// The token `*` selects every item of an array and every member of an object. Pointers that select nothing have no
/// effect; `set` and `copy` add a member if its object exists.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Rewrite {
    /// The messages: `response`, `any`, or the method of a notification or request [default: `response`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// Only messages that have a value at this pointer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only_with: Option<String>,
    /// Values to copy: the target pointer, and the pointer of the value.
    #[serde(skip_serializing_if = "Map::is_empty")]
    #[schemars(with = "std::collections::BTreeMap<String, String>")]
    pub copy: Map<String, Value>,
    /// Values to set, by pointer. The last token `-` appends to an array. The empty pointer replaces the message.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub set: Map<String, Value>,
    /// Pointers of items to repeat: a copy follows each item.
    #[serde(with = "one_or_many", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "one_or_many::OneOrManySchema<String>")]
    pub duplicate: Vec<String>,
    /// Pointers of values to remove.
    #[serde(with = "one_or_many", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "one_or_many::OneOrManySchema<String>")]
    pub remove: Vec<String>,
}

/// The `on` that selects all messages.
const ANY: &str = "any";
/// The `on` that selects responses.
const RESPONSE: &str = "response";

impl Rewrite {
    pub(super) fn problems(&self) -> Vec<ParameterProblem> {
        let pointer = |key: &str, pointer: &str| {
            let invalid = !pointer.is_empty() && !pointer.starts_with('/');
            let message = format!("`{pointer}` is not a JSON Pointer");
            invalid.then(|| ParameterProblem::value(key, message, "start it with `/`, as in `/result/tools/0`"))
        };
        let copied = self.copy.iter().flat_map(|(to, from)| [Some(to.as_str()), from.as_str()]);
        let copied = copied.map(|one| match one {
            Some(one) => pointer("copy", one),
            None => Some(ParameterProblem::value("copy", "not a JSON Pointer", "write a string, as in `/result`")),
        });
        let nothing = [self.copy.is_empty(), self.set.is_empty(), self.duplicate.is_empty(), self.remove.is_empty()];
        let nothing = nothing
            .into_iter()
            .all(|empty| empty)
            .then(|| ParameterProblem::key(&[], "change is empty", "add `set`, `copy`, `duplicate` or `remove`"));
        copied
            .chain(self.set.keys().map(|one| pointer("set", one)))
            .chain(self.duplicate.iter().map(|one| pointer("duplicate", one)))
            .chain(self.remove.iter().map(|one| pointer("remove", one)))
            .chain(self.only_with.iter().map(|one| pointer("only_with", one)))
            .chain([nothing])
            .flatten()
            .collect()
    }

    fn selects(&self, message: &Value) -> bool {
        let method = message.get("method").and_then(Value::as_str);
        let kind = match self.on.as_deref().unwrap_or(RESPONSE) {
            ANY => true,
            RESPONSE => method.is_none(),
            wanted => method == Some(wanted),
        };
        kind && self.only_with.as_deref().is_none_or(|pointer| message.pointer(pointer).is_some())
    }
}

impl FaultHooks for Rewrite {
    fn rewrite(&self, message: &mut Value, _: &mut ChaCha8Rng) {
        if !self.selects(message) {
            return;
        }
        for (to, from) in &self.copy {
            if let Some(value) = from.as_str().and_then(|from| message.pointer(from)).cloned() {
                set(message, to, &value);
            }
        }
        self.set.iter().for_each(|(pointer, value)| set(message, pointer, value));
        self.duplicate.iter().for_each(|pointer| edit(message, &tokens(pointer), &mut repeat));
        self.remove.iter().for_each(|pointer| edit(message, &tokens(pointer), &mut remove));
    }
}

/// The tokens of a JSON Pointer.
fn tokens(pointer: &str) -> Vec<String> {
    pointer.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~")).collect()
}

fn set(message: &mut Value, pointer: &str, value: &Value) {
    if pointer.is_empty() {
        *message = value.clone();
    } else {
        edit(message, &tokens(pointer), &mut |parent, token| put(parent, token, value));
    }
}

/// Calls a function with each parent of the selected values and the last token.
fn edit(value: &mut Value, tokens: &[String], change: &mut dyn FnMut(&mut Value, &str)) {
    match tokens {
        [] => {}
        [last] => change(value, last),
        [first, rest @ ..] => {
            for child in children(value, first) {
                edit(child, rest, change);
            }
        }
    }
}

/// The children that a token selects.
fn children<'a>(value: &'a mut Value, token: &str) -> Vec<&'a mut Value> {
    match value {
        Value::Object(members) => match token {
            "*" => members.values_mut().collect(),
            _ => members.get_mut(token).into_iter().collect(),
        },
        Value::Array(items) => match token {
            "*" => items.iter_mut().collect(),
            _ => index(token).and_then(|at| items.get_mut(at)).into_iter().collect(),
        },
        _ => Vec::new(),
    }
}

fn index(token: &str) -> Option<usize> {
    token.parse().ok()
}

fn put(parent: &mut Value, token: &str, value: &Value) {
    match parent {
        Value::Array(items) if token == "-" => items.push(value.clone()),
        Value::Object(members) if token != "*" => drop(members.insert(token.to_owned(), value.clone())),
        parent => children(parent, token).into_iter().for_each(|child| *child = value.clone()),
    }
}

fn repeat(parent: &mut Value, token: &str) {
    let Value::Array(items) = parent else { return };
    if token == "*" {
        *items = items.drain(..).flat_map(|item| [item.clone(), item]).collect();
    } else if let Some((at, item)) = index(token).and_then(|at| Some((at, items.get(at)?.clone()))) {
        items.insert(at + 1, item);
    }
}

fn remove(parent: &mut Value, token: &str) {
    match parent {
        Value::Object(members) if token == "*" => members.clear(),
        Value::Array(items) if token == "*" => items.clear(),
        Value::Object(members) => drop(members.shift_remove(token)),
        Value::Array(items) => {
            if let Some(at) = index(token).filter(|at| *at < items.len()) {
                items.remove(at);
            }
        }
        _ => {}
    }
}

/// Writes messages on several lines with indentation. Over stdio a message must not contain line breaks (all revisions,
/// transports, stdio); over HTTP the layout has no meaning.
#[derive(JsonSchema)]
pub(super) struct PrettyPrint;

impl FaultHooks for PrettyPrint {
    fn encode_bytes(&self, payload: &mut Vec<u8>, _: &mut ChaCha8Rng) {
        let pretty = serde_json::from_slice::<Value>(payload).ok();
        if let Some(pretty) = pretty.and_then(|message| serde_json::to_vec_pretty(&message).ok()) {
            *payload = pretty;
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use serde_json::json;

    use super::*;

    fn rewritten(rewrite: Value, mut message: Value) -> Value {
        let rewrite: Rewrite = serde_json::from_value(rewrite).unwrap();
        assert_eq!(rewrite.problems(), []);
        rewrite.rewrite(&mut message, &mut ChaCha8Rng::seed_from_u64(0));
        message
    }

    #[test]
    fn changes_the_values_at_its_pointers() {
        let message = || json!({"id": 1, "result": {"tools": [{"name": "a"}, {"name": "b"}], "x/y": 1}});
        for (rewrite, expected) in [
            (json!({"remove": "/id"}), json!({"result": message()["result"]})),
            (
                json!({"remove": ["/result/tools/0", "/result/x~1y"]}),
                json!({"id": 1, "result": {"tools": [{"name": "b"}]}}),
            ),
            (json!({"remove": "/result/tools/*/name"}), json!({"id": 1, "result": {"tools": [{}, {}], "x/y": 1}})),
            (json!({"set": {"": []}}), json!([])),
            (
                json!({"set": {"/result": {"tools": []}, "/result/tools/-": 1}}),
                json!({"id": 1, "result": {"tools": [1]}}),
            ),
            (json!({"set": {"/result": 1, "/a": {}, "/b/c": 2}}), json!({"id": 1, "result": 1, "a": {}})),
            (json!({"set": {"/result/tools/*": 0}}), json!({"id": 1, "result": {"tools": [0, 0], "x/y": 1}})),
            (json!({"copy": {"/result": "/result/tools/0"}}), json!({"id": 1, "result": {"name": "a"}})),
            (json!({"copy": {"/result": "/absent"}, "remove": "/absent"}), message()),
            (
                json!({"duplicate": "/result/tools/0", "remove": ["/result/tools/2", "/result/x~1y"]}),
                json!({"id": 1, "result": {"tools": [{"name": "a"}, {"name": "a"}]}}),
            ),
        ] {
            assert_eq!(rewritten(rewrite.clone(), message()), expected, "{rewrite}");
        }
    }

    #[test]
    fn selects_messages() {
        let notification = json!({"method": "notifications/progress", "params": {}});
        let response = json!({"id": 1, "result": {}});
        for (rewrite, expected) in [
            (json!({}), [false, true]),
            (json!({"on": "response"}), [false, true]),
            (json!({"on": "any"}), [true, true]),
            (json!({"on": "notifications/progress"}), [true, false]),
            (json!({"on": "any", "only_with": "/params"}), [true, false]),
            (json!({"only_with": "/error"}), [false, false]),
        ] {
            let mut with_set = rewrite.clone();
            with_set["set"] = json!({"/x": 1});
            for (message, expected) in [&notification, &response].into_iter().zip(expected) {
                let changed = rewritten(with_set.clone(), message.clone()) != *message;
                assert_eq!(changed, expected, "{rewrite} {message}");
            }
        }
    }

    #[test]
    fn reports_pointers_without_a_slash_and_empty_changes() {
        for rewrite in [
            json!({}),
            json!({"set": {"result": 1}}),
            json!({"remove": ["/a", "b"]}),
            json!({"copy": {"/a": "b"}}),
            json!({"copy": {"/a": 1}}),
            json!({"only_with": "a", "remove": "/a"}),
        ] {
            let read: Rewrite = serde_json::from_value(rewrite.clone()).unwrap();
            assert_eq!(read.problems().len(), 1, "{rewrite}");
        }
    }
}
