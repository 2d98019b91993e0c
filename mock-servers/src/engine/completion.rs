//! `completion/complete`: suggested values of an argument.

use serde_json::{Map, Value, json};

use super::{
    Engine,
    dispatch::Dispatch,
    message::{Outcome, param},
};

/// Maximum number of values of one response (all revisions, completion, `values`).
const MAX_VALUES: usize = 100;

impl Engine {
    pub(crate) fn completion_result(&self, dispatch: &Dispatch) -> Outcome {
        let argument = param(&dispatch.message, "argument");
        let text = |name: &str| argument.and_then(|argument| argument.get(name)).and_then(Value::as_str);
        let (Some(name), Some(prefix)) = (text("name"), text("value")) else {
            return Outcome::invalid_params("`argument` lacks `name` or `value`");
        };
        let Some(reference) = param(&dispatch.message, "ref") else {
            return Outcome::invalid_params("`ref` is missing");
        };
        let named = |member: &str| reference.get(member).and_then(Value::as_str).unwrap_or_default();
        let completion = match named("type") {
            "ref/prompt" => match self.items.lists.prompts.get(named("name")) {
                None => return Outcome::invalid_params(format!("unknown prompt: {}", named("name"))),
                Some(prompt) => {
                    let argument = prompt.arguments.iter().find(|argument| argument.name == name);
                    completion(argument.map_or(&[], |argument| argument.complete.as_slice()), prefix)
                }
            },
            "ref/resource" => match self.items.lists.templates.get(named("uri")) {
                Some(template) => completion(template.complete.get(name).map_or(&[], Vec::as_slice), prefix),
                // The URI can also be that of a resource, which has no variables.
                None if self.items.lists.resources.get(named("uri")).is_some() => completion(&[], prefix),
                None => return Outcome::invalid_params(format!("unknown resource template: {}", named("uri"))),
            },
            other => return Outcome::invalid_params(format!("unknown reference type: {other}")),
        };
        Outcome::Result(self.complete(dispatch, Map::from_iter([("completion".to_owned(), completion)])))
    }
}

/// The values with this prefix.
fn completion(values: &[String], prefix: &str) -> Value {
    let fitting: Vec<&String> = values.iter().filter(|value| value.starts_with(prefix)).collect();
    let argument_definition = &fitting[..fitting.len().min(MAX_VALUES)];
    json!({ "values": argument_definition, "total": fitting.len(), "hasMore": fitting.len() > MAX_VALUES })
}
