//! Placeholders `{{…}}` in scripts, filled from the request.

use serde_json::{Map, Value};

/// Values of placeholders.
pub(crate) struct TemplateContext<'a> {
    /// The client's message.
    pub(crate) message: &'a Value,
    /// The counter of its rule or tool.
    pub(crate) nth: u64,
    /// The client's response to the last `request` action.
    pub(crate) response: Option<&'a Value>,
    /// The client's responses to `ask` actions, by their keys.
    pub(crate) responses: Option<&'a Value>,
    /// The host and port of the request, over HTTP.
    pub(crate) host: Option<&'a str>,
    /// Values of the variables of a resource template.
    pub(crate) variables: Option<&'a Map<String, Value>>,
}

impl TemplateContext<'_> {
    /// The value that a placeholder names: null if there is none.
    fn look_up(&self, name: &str) -> Value {
        let mut path = name.split('.');
        let root = match path.next() {
            Some("nth") => return self.nth.into(),
            Some("host") => return self.host.map(Value::from).unwrap_or_default(),
            Some("variables") => {
                return path.next().and_then(|name| self.variables?.get(name)).cloned().unwrap_or_default();
            }
            Some("arguments") => self.message.pointer("/params/arguments"),
            Some("params") => self.message.get("params"),
            Some("id") => self.message.get("id"),
            Some("method") => self.message.get("method"),
            Some("response") => self.response,
            Some("responses") => self.responses,
            _ => None,
        };
        let mut at = root;
        for step in path {
            if let (Some(Value::Array(items)), "length") = (at, step) {
                return items.len().into();
            }
            at = at.and_then(|at| {
                at.get(step).or_else(|| at.get(step.parse::<usize>().ok()?)).or_else(|| sole(at)?.get(step))
            });
        }
        at.cloned().unwrap_or_default()
    }

    /// Fills all placeholders of a string; missing values are empty.
    pub(crate) fn fill_text(&self, text: &str) -> String {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            filled.push_str(before);
            let Some((name, behind)) = after.split_once("}}") else {
                filled.push_str("{{");
                rest = after;
                continue;
            };
            match self.look_up(name.trim()) {
                Value::Null => {}
                Value::String(value) => filled.push_str(&value),
                value => filled.push_str(&value.to_string()),
            }
            rest = behind;
        }
        filled.push_str(rest);
        filled
    }

    /// A value with all its strings filled. A string that consists of one placeholder becomes the value.
    pub(crate) fn fill(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => match sole_placeholder(text) {
                Some(name) => self.look_up(name),
                None => Value::String(self.fill_text(text)),
            },
            Value::Array(items) => items.iter().map(|item| self.fill(item)).collect(),
            Value::Object(members) => Value::Object(self.fill_map(members)),
            other => other.clone(),
        }
    }

    /// The same for the members of an object.
    pub(crate) fn fill_map(&self, members: &Map<String, Value>) -> Map<String, Value> {
        members.iter().map(|(name, value)| (name.clone(), self.fill(value))).collect()
    }
}

/// The item of an array with one item: content may be a block or an array of blocks (2025-11-25, client/sampling).
fn sole(value: &Value) -> Option<&Value> {
    match value.as_array()?.as_slice() {
        [item] => Some(item),
        _ => None,
    }
}

/// The name in a string that consists of one placeholder.
fn sole_placeholder(text: &str) -> Option<&str> {
    let name = text.strip_prefix("{{")?.strip_suffix("}}")?;
    (!name.contains("{{") && !name.contains("}}")).then(|| name.trim())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fills_placeholders_from_the_request() {
        let message = json!({"id": 7, "method": "tools/call", "params": {"arguments": {"text": "hi", "n": [1, 2],
            "blocks": [{"text": "only"}], "pair": [{"text": "a"}, {"text": "b"}]}}});
        let response = json!({"action": "accept"});
        let responses = json!({"name": {"content": {"name": "Ada"}}});
        let context = TemplateContext {
            message: &message,
            nth: 3,
            response: Some(&response),
            responses: Some(&responses),
            host: Some("localhost:1"),
            variables: None,
        };
        for (template, expected) in [
            ("{{arguments.text}}", json!("hi")),
            ("{{ id }}", json!(7)),
            ("http://{{host}}/a", json!("http://localhost:1/a")),
            ("<{{id}}|{{nth}}|{{method}}>", json!("<7|3|tools/call>")),
            ("{{arguments.n}}", json!([1, 2])),
            ("{{arguments.n.1}}!", json!("2!")),
            ("{{arguments.n.length}}", json!(2)),
            ("{{arguments.blocks.text}}", json!("only")),
            ("{{arguments.pair.text}}", json!(null)),
            ("{{arguments.text.length}}", json!(null)),
            ("{{params.arguments.absent}}", json!(null)),
            ("[{{absent}}]", json!("[]")),
            ("{{response.action}}", json!("accept")),
            ("{{responses.name.content.name}}", json!("Ada")),
            ("open {{ only", json!("open {{ only")),
        ] {
            assert_eq!(context.fill(&json!(template)), expected, "{template}");
        }
    }
}
