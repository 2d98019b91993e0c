//! Tools: what lists show of them, and what a call answers.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::{
    Engine,
    catalogue::add,
    exchange::Exchange,
    generated,
    message::{Outcome, param},
    shelf::Offered,
};
use crate::script::{Generate, Tool};

/// How many of the places where arguments do not fit are told.
const MOST_MISFITS: usize = 10;

impl Offered for Tool {
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

    fn wanted(generate: &Generate) -> usize {
        generate.tools
    }

    fn made(number: usize, generate: &Generate) -> Self {
        Self {
            name: Self::made_key(number),
            description: Some(generated::description("tool", number, generate)),
            input_schema: generate.schema.map(|size| generated::schema(number, size)),
            ..Self::default()
        }
    }

    fn made_key(number: usize) -> String {
        format!("tool-{number:05}")
    }
}

fn default_input_schema() -> Value {
    json!({ "type": "object", "properties": { "text": { "type": "string" } } })
}

impl Engine {
    pub(crate) fn call(&mut self, exchange: &Exchange) -> Outcome {
        let Some(name) = param(&exchange.message, "name").and_then(Value::as_str) else {
            return Outcome::invalid_params("`name` is missing");
        };
        let arguments = param(&exchange.message, "arguments");
        if arguments.is_some_and(|arguments| !arguments.is_object()) {
            return Outcome::invalid_params("`arguments` is no object");
        }
        let Some(validate) = self.catalogue.tools.get(name).map(|tool| tool.validate) else {
            return Outcome::invalid_params(format!("unknown tool: {name}"));
        };
        if validate && let Some(refusal) = self.misfit(exchange, name, arguments.unwrap_or(&json!({}))) {
            return refusal;
        }
        let nth = self.count_call(name);
        match self.catalogue.tools.get(name) {
            Some(tool) => self.called(exchange, &tool, nth),
            None => Outcome::invalid_params(format!("unknown tool: {name}")),
        }
    }

    /// How often a tool has been called by now.
    fn count_call(&mut self, name: &str) -> u64 {
        let count = match self.calls.get_mut(name) {
            Some(count) => count,
            None => self.calls.entry(name.to_owned()).or_default(),
        };
        *count += 1;
        *count
    }

    /// The refusal of arguments that do not fit the tool's input schema, in the way of the revision.
    fn misfit(&mut self, exchange: &Exchange, name: &str, arguments: &Value) -> Option<Outcome> {
        if !self.catalogue.validators.contains_key(name) {
            let tool = self.catalogue.tools.get(name)?;
            let schema = tool.input_schema.as_ref().map_or_else(|| Cow::Owned(default_input_schema()), Cow::Borrowed);
            let validator = jsonschema::validator_for(&schema).map_err(|cause| cause.to_string());
            self.catalogue.validators.insert(name.to_owned(), validator);
        }
        let words = match self.catalogue.validators.get(name)? {
            Err(cause) => {
                return Some(Outcome::error(-32603, format!("the input schema of `{name}` is none: {cause}")));
            }
            Ok(validator) => {
                let misfits = validator.iter_errors(arguments).take(MOST_MISFITS).map(|misfit| {
                    match misfit.instance_path().as_str() {
                        "" => misfit.to_string(),
                        place => format!("{place}: {misfit}"),
                    }
                });
                misfits.collect::<Vec<_>>()
            }
        };
        if words.is_empty() {
            return None;
        }
        let words = format!("the arguments of `{name}` do not fit: {}", words.join("; "));
        Some(if self.dialect(exchange).refuses_arguments_by_result() {
            let members = json!({ "content": [{ "type": "text", "text": words }], "isError": true });
            Outcome::Result(self.complete(exchange, members.as_object().cloned().unwrap_or_default()))
        } else {
            Outcome::invalid_params(words)
        })
    }
}
