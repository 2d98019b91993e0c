//! Results from a script: tool results, whole results, and patches of the default.

use serde_json::{Map, Value, json};

use super::{
    Engine,
    content::block,
    dispatch::Dispatch,
    features::SchemaType,
    message::{Outcome, method, param},
    prompts::message,
    template::TemplateContext,
};
use crate::script::{Reply, Role, Tool};

impl Engine {
    /// The result of a `reply` action.
    pub(crate) fn reply_result(&mut self, dispatch: &Dispatch, reply: &Reply) -> Value {
        let context = dispatch.context();
        let base = match scripted(reply, &context) {
            Some(Scripted::Whole(result)) => result,
            Some(Scripted::Content(members)) => self.scripted_result(dispatch, members),
            None => match self.default_outcome(dispatch) {
                Outcome::Result(result) => result,
                Outcome::Error { .. } => self.complete(dispatch, Map::new()),
            },
        };
        patched(base, reply, &context)
    }

    /// The outcome of a call without a rule.
    pub(crate) fn tool_result(&self, dispatch: &Dispatch, tool: &Tool, nth: u64) -> Outcome {
        let context = TemplateContext { nth, ..dispatch.context() };
        let reply = tool.reply.as_ref();
        let base = match reply.and_then(|reply| scripted(reply, &context)) {
            Some(Scripted::Whole(result)) => result,
            Some(Scripted::Content(content)) => self.scripted_result(dispatch, content),
            None => self.complete(dispatch, text_content(&echo(dispatch, tool))),
        };
        Outcome::Result(match reply {
            Some(reply) => patched(base, reply, &context),
            None => base,
        })
    }

    /// Content of a script as the result of the requested method.
    fn scripted_result(&self, dispatch: &Dispatch, mut members: Map<String, Value>) -> Value {
        let blocks = |members: &mut Map<String, Value>| match members.shift_remove("content") {
            Some(Value::Array(blocks)) => blocks,
            _ => Vec::new(),
        };
        match method(&dispatch.message) {
            "prompts/get" => {
                let messages = blocks(&mut members).into_iter().map(|block| message(Role::User, block)).collect();
                self.prompt_result(dispatch, None, messages)
            }
            "resources/read" => {
                let uri = param(&dispatch.message, "uri");
                let contents = blocks(&mut members).into_iter().map(|block| contents(block, uri)).collect();
                self.resource_result(dispatch, contents)
            }
            _ => {
                self.features(dispatch).fit_members(SchemaType::CallToolResult, &mut members);
                self.complete(dispatch, members)
            }
        }
    }
}

/// Content of a reply.
enum Scripted {
    /// A whole result.
    Whole(Value),
    /// The members of a tool result.
    Content(Map<String, Value>),
}

fn scripted(reply: &Reply, context: &TemplateContext<'_>) -> Option<Scripted> {
    if let Some(result) = &reply.result {
        return Some(Scripted::Whole(context.fill(result)));
    }
    let wordless = reply.text.is_none() && reply.content.is_empty() && reply.structured.is_none();
    if wordless && !reply.is_error && reply.meta.is_none() {
        return None;
    }
    let structured = reply.structured.as_ref().map(|value| context.fill(value));
    let text = match (&reply.text, &structured) {
        (Some(text), _) => Some(context.fill_text(text)),
        // A structured result should also be sent as text (2025-06-18 and later, tools, structured content).
        (None, Some(structured)) if reply.content.is_empty() => Some(structured.to_string()),
        (None, _) => reply.content.is_empty().then(String::new),
    };
    let text = text.map(|text| json!({ "type": "text", "text": text }));
    let blocks = text.into_iter().chain(reply.content.iter().map(|content| block(content, context)));
    let mut members = Map::from_iter([("content".to_owned(), blocks.collect())]);
    if let Some(structured) = structured {
        members.insert("structuredContent".into(), structured);
    }
    if reply.is_error {
        members.insert("isError".into(), true.into());
    }
    if let Some(meta) = &reply.meta {
        members.insert("_meta".into(), context.fill_map(meta).into());
    }
    Some(Scripted::Content(members))
}

/// A block of content as a part of a resource.
fn contents(mut block: Value, uri: Option<&Value>) -> Value {
    if let Some(resource) = block.get_mut("resource") {
        return resource.take();
    }
    let mut part = Map::new();
    part.insert("uri".into(), uri.cloned().unwrap_or_default());
    for (from, to) in [("mimeType", "mimeType"), ("text", "text"), ("data", "blob")] {
        if let Some(value) = block.get_mut(from) {
            part.insert(to.into(), value.take());
        }
    }
    Value::Object(part)
}

pub(crate) fn text_content(text: &str) -> Map<String, Value> {
    Map::from_iter([("content".to_owned(), json!([{ "type": "text", "text": text }]))])
}

/// `<name>: <arguments as JSON>`.
fn echo(dispatch: &Dispatch, tool: &Tool) -> String {
    let arguments = dispatch.message.pointer("/params/arguments");
    format!("{}: {}", tool.name, arguments.unwrap_or(&json!({})))
}

/// The result with a reply's patch; a null removes a member.
fn patched(mut base: Value, reply: &Reply, context: &TemplateContext<'_>) -> Value {
    let (Some(patch), Some(members)) = (&reply.patch, base.as_object_mut()) else { return base };
    for (name, value) in patch {
        match context.fill(value) {
            // A placeholder without a value does not remove the field.
            Value::Null if value.is_null() => drop(members.shift_remove(name)),
            value => drop(members.insert(name.clone(), value)),
        }
    }
    base
}
