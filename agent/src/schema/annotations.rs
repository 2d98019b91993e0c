//! Titles, descriptions, defaults and examples, and notes about keywords that a dialect does not support.

use serde_json::{Map, Value};

use super::{converter::Converter, dialect::Dialect, document::Annotations, report::Effect};

/// Maximum length of one note, in characters.
const MAX_NOTE: usize = 200;
/// Maximum length of all notes of one schema, in characters.
const MAX_NOTES: usize = 600;

/// Notes for the description of one schema.
#[derive(Debug, Default)]
pub(super) struct DescriptionNotes {
    text: String,
    length: usize,
}

impl DescriptionNotes {
    /// Adds a sentence. A long sentence is truncated; sentences beyond the limit are omitted.
    pub(super) fn add(&mut self, sentence: &str) {
        let mut sentence: String = sentence.chars().filter(|letter| !letter.is_control()).collect();
        if let Some((cut, _)) = sentence.char_indices().nth(MAX_NOTE) {
            sentence.truncate(cut);
            sentence.push('…');
        }
        let length = sentence.chars().count() + 1;
        if self.length + length <= MAX_NOTES {
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

    /// Appends the notes to a description.
    pub(super) fn after(self, description: Option<String>) -> Option<String> {
        match description {
            description if self.is_empty() => description,
            Some(description) if !description.is_empty() => Some(format!("{description}\n{}", self.text)),
            _ => Some(self.text),
        }
    }
}

/// Formats a value for a note.
pub(super) fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(80) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}

/// Formats several values for a note.
pub(super) fn listed(values: &[Value]) -> String {
    let mut text = values.iter().take(20).map(shown).collect::<Vec<_>>().join(", ");
    if values.len() > 20 {
        text.push_str(", …");
    }
    text
}

impl Converter<'_> {
    /// Inserts annotations and notes before the keywords of a written schema.
    pub(super) fn annotate(
        &mut self,
        written: Map<String, Value>,
        annotations: &Annotations,
        mut notes: DescriptionNotes,
        at: &str,
    ) -> Map<String, Value> {
        let mut front = Map::new();
        if let Some(title) = &annotations.title {
            front.insert("title".into(), title.as_str().into());
        }
        self.write_default(&mut front, annotations, &mut notes, at);
        self.write_examples(&mut front, annotations, &mut notes, at);
        if let Some(description) = notes.after(annotations.description.clone()) {
            front.insert("description".into(), description.into());
        }
        if front.is_empty() {
            return written;
        }
        // Neither strict mode nor Gemini accepts other keywords next to a reference.
        if written.contains_key("$ref") && !self.dialect.is_verbatim() {
            front.insert("anyOf".into(), Value::Array(vec![Value::Object(written)]));
            return front;
        }
        front.extend(written);
        front
    }

    fn write_default(
        &mut self,
        front: &mut Map<String, Value>,
        annotations: &Annotations,
        notes: &mut DescriptionNotes,
        at: &str,
    ) {
        let Some(default) = &annotations.default else { return };
        if self.dialect.supports("default") {
            front.insert("default".into(), default.clone());
        } else {
            // A null default has the same meaning as an absent value.
            if !default.is_null() {
                notes.add(&format!("Default: {}.", shown(default)));
            }
            self.record(at, "default", "moved to the description", Effect::Equal);
        }
    }

    fn write_examples(
        &mut self,
        front: &mut Map<String, Value>,
        annotations: &Annotations,
        notes: &mut DescriptionNotes,
        at: &str,
    ) {
        if annotations.examples.is_empty() {
            return;
        }
        if self.dialect.is_verbatim() {
            front.insert("examples".into(), Value::Array(annotations.examples.clone()));
        } else if self.dialect == Dialect::Gemini && annotations.examples.len() == 1 {
            front.insert("example".into(), annotations.examples[0].clone());
        } else {
            notes.add(&format!("Examples: {}.", listed(&annotations.examples)));
            self.record(at, "examples", "moved to the description", Effect::Equal);
        }
    }
}
