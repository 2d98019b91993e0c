//! What cannot be said in a schema, said in its description.

use serde_json::{Map, Value};

use super::{converter::Converter, dialect::Dialect, document::Annotations, report::Effect};

/// How long one remark may be, in characters.
const REMARK: usize = 200;
/// How long all remarks on one place may be together, in characters.
const REMARKS: usize = 600;

/// What is to be said about one place.
#[derive(Debug, Default)]
pub(super) struct DescriptionNotes {
    text: String,
    length: usize,
}

impl DescriptionNotes {
    /// Adds a sentence. One that is too long is cut, and one too many is left out.
    pub(super) fn add(&mut self, sentence: &str) {
        let mut sentence: String = sentence.chars().filter(|letter| !letter.is_control()).collect();
        if let Some((cut, _)) = sentence.char_indices().nth(REMARK) {
            sentence.truncate(cut);
            sentence.push('…');
        }
        let length = sentence.chars().count() + 1;
        if self.length + length <= REMARKS {
            self.length += length;
            if !self.text.is_empty() {
                self.text.push(' ');
            }
            self.text.push_str(&sentence);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// A description with the remarks after it.
    pub(super) fn after(self, description: Option<String>) -> Option<String> {
        match description {
            description if self.is_empty() => description,
            Some(description) if !description.is_empty() => Some(format!("{description}\n{}", self.text)),
            _ => Some(self.text),
        }
    }
}

/// A value as it is shown in a remark.
pub(super) fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(80) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}

/// Several values as they are shown in a remark.
pub(super) fn listed(values: &[Value]) -> String {
    let mut text = values.iter().take(20).map(shown).collect::<Vec<_>>().join(", ");
    if values.len() > 20 {
        text.push_str(", …");
    }
    text
}

impl Converter<'_> {
    /// Puts words and remarks in front of a written schema.
    pub(super) fn dressed(
        &mut self,
        written: Map<String, Value>,
        words: &Annotations,
        mut remarks: DescriptionNotes,
        at: &str,
    ) -> Map<String, Value> {
        let mut front = Map::new();
        if let Some(title) = &words.title {
            front.insert("title".into(), title.as_str().into());
        }
        self.say_default(&mut front, words, &mut remarks, at);
        self.say_examples(&mut front, words, &mut remarks, at);
        if let Some(description) = remarks.after(words.description.clone()) {
            front.insert("description".into(), description.into());
        }
        if front.is_empty() {
            return written;
        }
        // Neither strict mode nor Gemini takes anything beside a reference.
        if written.contains_key("$ref") && !self.dialect.is_full() {
            front.insert("anyOf".into(), Value::Array(vec![Value::Object(written)]));
            return front;
        }
        front.extend(written);
        front
    }

    fn say_default(
        &mut self,
        front: &mut Map<String, Value>,
        words: &Annotations,
        remarks: &mut DescriptionNotes,
        at: &str,
    ) {
        let Some(default) = &words.default else { return };
        if self.dialect.knows("default") {
            front.insert("default".into(), default.clone());
        } else {
            // `null` stands for what is left out, so it need not be said.
            if !default.is_null() {
                remarks.add(&format!("Default: {}.", shown(default)));
            }
            self.record(at, "default", "said in the description", Effect::Equal);
        }
    }

    fn say_examples(
        &mut self,
        front: &mut Map<String, Value>,
        words: &Annotations,
        remarks: &mut DescriptionNotes,
        at: &str,
    ) {
        if words.examples.is_empty() {
            return;
        }
        if self.dialect.is_full() {
            front.insert("examples".into(), Value::Array(words.examples.clone()));
        } else if self.dialect == Dialect::Gemini && words.examples.len() == 1 {
            front.insert("example".into(), words.examples[0].clone());
        } else {
            remarks.add(&format!("Examples: {}.", listed(&words.examples)));
            self.record(at, "examples", "said in the description", Effect::Equal);
        }
    }
}
