//! Results that a script words: tool results, whole results, and patches over the default.

use serde_json::{Map, Value, json};

use super::{Engine, exchange::Exchange, message::Outcome, template::Facts};
use crate::script::{Reply, Tool};

impl Engine {
    /// The result that a `reply` action asks for.
    pub(crate) fn replied(&mut self, exchange: &Exchange, reply: &Reply) -> Value {
        let facts = exchange.facts();
        let base = match worded(reply, &facts) {
            Some(Worded::Whole(result)) => result,
            Some(Worded::Content(members)) => self.complete(exchange, members),
            None => match self.default_outcome(exchange) {
                Outcome::Result(result) => result,
                Outcome::Error { .. } => self.complete(exchange, Map::new()),
            },
        };
        patched(base, reply, &facts)
    }

    /// The result of a call that no rule decides about.
    pub(crate) fn called(&mut self, exchange: &Exchange, tool: &Tool) -> Value {
        let count = self.calls.entry(tool.name.clone()).or_default();
        *count += 1;
        let facts = Facts { nth: *count, ..exchange.facts() };
        let reply = tool.reply.as_ref();
        let base = match reply.and_then(|reply| worded(reply, &facts)) {
            Some(Worded::Whole(result)) => result,
            Some(Worded::Content(members)) => self.complete(exchange, members),
            None => self.complete(exchange, text_content(&echo(exchange, tool))),
        };
        match reply {
            Some(reply) => patched(base, reply, &facts),
            None => base,
        }
    }
}

/// What a reply words out itself.
enum Worded {
    /// A result that must go out word for word.
    Whole(Value),
    /// The members of a tool result.
    Content(Map<String, Value>),
}

fn worded(reply: &Reply, facts: &Facts<'_>) -> Option<Worded> {
    if let Some(result) = &reply.result {
        return Some(Worded::Whole(facts.fill(result)));
    }
    if reply.text.is_none() && reply.structured.is_none() && !reply.is_error {
        return None;
    }
    let structured = reply.structured.as_ref().map(|value| facts.fill(value));
    let text = match (&reply.text, &structured) {
        (Some(text), _) => facts.fill_text(text),
        // A structured result should be given as text too (2025-06-18 and later, tools, structured content).
        (None, Some(structured)) => structured.to_string(),
        (None, None) => String::new(),
    };
    let mut members = text_content(&text);
    if let Some(structured) = structured {
        members.insert("structuredContent".into(), structured);
    }
    if reply.is_error {
        members.insert("isError".into(), true.into());
    }
    Some(Worded::Content(members))
}

fn text_content(text: &str) -> Map<String, Value> {
    Map::from_iter([("content".to_owned(), json!([{ "type": "text", "text": text }]))])
}

/// `<name>: <arguments as JSON>`.
fn echo(exchange: &Exchange, tool: &Tool) -> String {
    let arguments = exchange.message.pointer("/params/arguments");
    format!("{}: {}", tool.name, arguments.unwrap_or(&json!({})))
}

/// The result with a reply's patch laid over it; a null takes a field away.
fn patched(mut base: Value, reply: &Reply, facts: &Facts<'_>) -> Value {
    let (Some(patch), Some(members)) = (&reply.patch, base.as_object_mut()) else { return base };
    for (name, value) in patch {
        match facts.fill(value) {
            // A placeholder that names nothing is no wish to take the field away.
            Value::Null if value.is_null() => drop(members.shift_remove(name)),
            value => drop(members.insert(name.clone(), value)),
        }
    }
    base
}
