//! Tools: definitions in lists, and `tools/call`.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::{
    Engine,
    dispatch::Dispatch,
    generated,
    item_list::ListItem,
    message::{Outcome, method, param},
    server_lists::add,
};
use crate::script::{Generate, Tool};

/// Maximum number of reported schema violations.
const MAX_MISMATCHES: usize = 10;

impl ListItem for Tool {
    fn key(&self) -> &str {
        &self.name
    }

    fn definition(&self) -> Value {
        let mut members = Map::from_iter([("name".to_owned(), Value::from(self.name.clone()))]);
        let input = self.input_schema.clone().unwrap_or_else(default_input_schema);
        add(
            &mut members,
            [
                ("title", self.title.clone().map(Value::from)),
                ("description", self.description.clone().map(Value::from)),
                ("inputSchema", Some(input)),
                ("outputSchema", self.output_schema.clone()),
                ("annotations", self.annotations.clone()),
                ("icons", self.icons.clone()),
                ("execution", self.execution.clone()),
                ("_meta", self.meta.clone().map(Value::from)),
            ],
        );
        Value::Object(members)
    }

    fn generated_count(generate: &Generate) -> usize {
        generate.tools
    }

    fn generated_item(number: usize, generate: &Generate) -> Self {
        Self {
            name: Self::generated_key(number),
            description: Some(generated::description("tool", number, generate)),
            input_schema: generate.schema.map(|size| generated::schema(number, size)),
            ..Self::default()
        }
    }

    fn generated_key(number: usize) -> String {
        format!("tool-{number:05}")
    }
}

fn default_input_schema() -> Value {
    json!({ "type": "object", "properties": { "text": { "type": "string" } } })
}

impl Engine {
    pub(crate) fn call(&mut self, dispatch: &Dispatch) -> Outcome {
        let Some(name) = param(&dispatch.message, "name").and_then(Value::as_str) else {
            return Outcome::invalid_params("`name` is missing");
        };
        let arguments = param(&dispatch.message, "arguments");
        if arguments.is_some_and(|arguments| !arguments.is_object()) {
            return Outcome::invalid_params("`arguments` is not an object");
        }
        let Some(validate) = self.items.lists.tools.get(name).map(|tool| tool.validate) else {
            return Outcome::invalid_params(format!("unknown tool: {name}"));
        };
        if validate
            && let Some(rejection_response) = self.argument_error(dispatch, name, arguments.unwrap_or(&json!({})))
        {
            return rejection_response;
        }
        let nth = self.count_call(name);
        match self.items.lists.tools.get(name) {
            Some(tool) => self.tool_result(dispatch, &tool, nth),
            None => Outcome::invalid_params(format!("unknown tool: {name}")),
        }
    }

    /// Removes the actions of a rule for a call whose arguments the tool rejects, so that the default response does.
    pub(crate) fn leave_invalid_arguments(&mut self, dispatch: &mut Dispatch) {
        if dispatch.remaining.is_empty() || method(&dispatch.message) != "tools/call" {
            return;
        }
        let Some(name) = param(&dispatch.message, "name").and_then(Value::as_str).map(str::to_owned) else { return };
        let validates = self.items.lists.tools.get(&name).is_some_and(|tool| tool.validate);
        let arguments = param(&dispatch.message, "arguments").cloned().unwrap_or_else(|| json!({}));
        if validates && arguments.is_object() && self.argument_error(dispatch, &name, &arguments).is_some() {
            dispatch.remaining.clear();
        }
    }

    /// Counts a call of a tool.
    fn count_call(&mut self, name: &str) -> u64 {
        let count = match self.items.calls.get_mut(name) {
            Some(count) => count,
            None => self.items.calls.entry(name.to_owned()).or_default(),
        };
        *count += 1;
        *count
    }

    /// The error for arguments that violate the tool's input schema, in the form of the revision.
    fn argument_error(&mut self, dispatch: &Dispatch, name: &str, arguments: &Value) -> Option<Outcome> {
        if !self.items.lists.validators.contains_key(name) {
            let tool = self.items.lists.tools.get(name)?;
            let schema = tool.input_schema.as_ref().map_or_else(|| Cow::Owned(default_input_schema()), Cow::Borrowed);
            let validator = jsonschema::validator_for(&schema).map_err(|cause| cause.to_string());
            self.items.lists.validators.insert(name.to_owned(), validator);
        }
        let words = match self.items.lists.validators.get(name)? {
            Err(cause) => {
                return Some(Outcome::error(-32603, format!("the input schema of `{name}` is invalid: {cause}")));
            }
            Ok(validator) => {
                let misfits = validator.iter_errors(arguments).take(MAX_MISMATCHES).map(|argument_error| {
                    match argument_error.instance_path().as_str() {
                        "" => argument_error.to_string(),
                        place => format!("{place}: {argument_error}"),
                    }
                });
                misfits.collect::<Vec<_>>()
            }
        };
        if words.is_empty() {
            return None;
        }
        let words = format!("the arguments of `{name}` do not fit: {}", words.join("; "));
        Some(if self.features(dispatch).rules().argument_errors_in_results {
            let members = json!({ "content": [{ "type": "text", "text": words }], "isError": true });
            Outcome::Result(self.complete(dispatch, members.as_object().cloned().unwrap_or_default()))
        } else {
            Outcome::invalid_params(words)
        })
    }
}
