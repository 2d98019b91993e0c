//! Prompts: definitions in lists, and `prompts/get`.

use serde_json::{Map, Value, json};

use super::{
    Engine,
    content::block,
    dispatch::Dispatch,
    generated,
    item_list::ListItem,
    message::{Outcome, param},
    server_lists::add,
};
use crate::script::{Generate, Prompt, PromptArgument, Role};

impl ListItem for Prompt {
    fn key(&self) -> &str {
        &self.name
    }

    fn definition(&self) -> Value {
        let arguments: Vec<Value> = self.arguments.iter().map(argument_definition).collect();
        let mut members = Map::new();
        add(
            &mut members,
            [
                ("name", Some(self.name.clone().into())),
                ("title", self.title.clone().map(Value::from)),
                ("description", self.description.clone().map(Value::from)),
                ("arguments", (!arguments.is_empty()).then(|| arguments.into())),
                ("icons", self.icons.clone()),
                ("_meta", self.meta.clone().map(Value::from)),
            ],
        );
        Value::Object(members)
    }

    fn generated_count(generate: &Generate) -> usize {
        generate.prompts
    }

    fn generated_item(number: usize, generate: &Generate) -> Self {
        let subject = PromptArgument { name: "subject".into(), ..PromptArgument::default() };
        Self {
            name: Self::generated_key(number),
            description: Some(generated::description("prompt", number, generate)),
            arguments: vec![subject],
            ..Self::default()
        }
    }

    fn generated_key(number: usize) -> String {
        format!("prompt-{number:05}")
    }
}

fn argument_definition(argument: &PromptArgument) -> Value {
    let mut members = Map::new();
    add(
        &mut members,
        [
            ("name", Some(argument.name.clone().into())),
            ("title", argument.title.clone().map(Value::from)),
            ("description", argument.description.clone().map(Value::from)),
            ("required", argument.required.then_some(Value::Bool(true))),
        ],
    );
    Value::Object(members)
}

impl Engine {
    pub(crate) fn get_prompt(&self, dispatch: &Dispatch) -> Outcome {
        let Some(name) = param(&dispatch.message, "name").and_then(Value::as_str) else {
            return Outcome::invalid_params("`name` is missing");
        };
        let Some(prompt) = self.items.lists.prompts.get(name) else {
            return Outcome::invalid_params(format!("unknown prompt: {name}"));
        };
        if let Some(words) = argument_error(&prompt, param(&dispatch.message, "arguments")) {
            return Outcome::invalid_params(words);
        }
        let context = dispatch.context();
        let said = |role, content| message(role, content);
        let messages: Vec<Value> = match prompt.messages.as_slice() {
            [] => vec![said(Role::User, json!({ "type": "text", "text": prompt.name }))],
            messages => messages.iter().map(|one| said(one.role, block(&one.content, &context))).collect(),
        };
        let description = prompt.description.clone();
        Outcome::Result(self.prompt_result(dispatch, description, messages))
    }

    /// The result with these messages.
    pub(crate) fn prompt_result(
        &self,
        dispatch: &Dispatch,
        description: Option<String>,
        mut messages: Vec<Value>,
    ) -> Value {
        let features = self.features(dispatch);
        messages
            .iter_mut()
            .filter_map(|message| message.get_mut("content"))
            .for_each(|block| features.fit_block(block));
        let mut members = Map::new();
        add(&mut members, [("description", description.map(Value::from)), ("messages", Some(messages.into()))]);
        self.complete(dispatch, members)
    }
}

/// A message of a prompt.
pub(crate) fn message(role: Role, content: Value) -> Value {
    json!({ "role": if role == Role::User { "user" } else { "assistant" }, "content": content })
}

/// The problem of these arguments (prompts, error handling).
fn argument_error(prompt: &Prompt, arguments: Option<&Value>) -> Option<String> {
    let given = match arguments {
        None => None,
        Some(Value::Object(given)) => Some(given),
        Some(_) => return Some("`arguments` is not an object".into()),
    };
    if let Some((name, _)) = given.into_iter().flatten().find(|(_, value)| !value.is_string()) {
        return Some(format!("the argument `{name}` is not a string"));
    }
    let lacks =
        |argument: &&PromptArgument| argument.required && given.is_none_or(|given| !given.contains_key(&argument.name));
    prompt.arguments.iter().find(lacks).map(|argument| format!("the argument `{}` is missing", argument.name))
}
