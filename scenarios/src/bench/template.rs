//! JSON with placeholders. It is encoded once, and filled for each request.
//!
//! As in scripts of mock servers, a string that consists of one placeholder becomes the value; other placeholders are
//! replaced in the text.

use std::io::Write as _;

use serde_json::Value;

use super::data::{DataSet, escaped};

/// Number of digits of an id. The width is fixed, so that ids do not change the length of a request.
pub(super) const ID_DIGITS: usize = 10;

/// A value that differs between requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    /// The id, with [`ID_DIGITS`] digits.
    Id,
    /// The number of the iteration, from 0.
    Iteration,
    /// The number of the user, from 1.
    User,
    /// The cursor of the next page.
    Cursor,
    /// A column of the data.
    Column(usize),
}

/// Values of the slots of one request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Values<'a> {
    pub(super) id: u64,
    pub(super) iteration: u64,
    pub(super) user: u64,
    pub(super) cursor: Option<&'a str>,
    pub(super) data: &'a DataSet,
}

/// JSON, of which some parts are filled later.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Template {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(Vec<u8>),
    /// A whole value.
    Value(Slot),
    /// A part of a string.
    InText(Slot),
}

impl Template {
    /// Encodes a value. `slot` has the placeholders by name.
    ///
    /// # Errors
    /// The name of an unknown placeholder.
    pub(super) fn new(value: &Value, slot: &dyn Fn(&str) -> Option<Slot>) -> Result<Self, String> {
        let mut template = Self::default();
        template.push_value(value, slot)?;
        Ok(template)
    }

    fn push_value(&mut self, value: &Value, slot: &dyn Fn(&str) -> Option<Slot>) -> Result<(), String> {
        match value {
            Value::String(text) => self.push_string(text, slot)?,
            Value::Array(items) => {
                for (position, item) in items.iter().enumerate() {
                    self.push(if position == 0 { b"[" } else { b"," });
                    self.push_value(item, slot)?;
                }
                self.push(if items.is_empty() { b"[]" } else { b"]" });
            }
            Value::Object(members) => {
                for (position, (name, member)) in members.iter().enumerate() {
                    self.push(if position == 0 { b"{" } else { b"," });
                    self.push(Value::from(name.as_str()).to_string().as_bytes());
                    self.push(b":");
                    self.push_value(member, slot)?;
                }
                self.push(if members.is_empty() { b"{}" } else { b"}" });
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => self.push(value.to_string().as_bytes()),
        }
        Ok(())
    }

    fn push_string(&mut self, text: &str, slot: &dyn Fn(&str) -> Option<Slot>) -> Result<(), String> {
        let find = |name: &str| slot(name.trim()).ok_or_else(|| name.trim().to_owned());
        if let Some(name) = text.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"))
            && !name.contains("}}")
        {
            self.parts.push(Part::Value(find(name)?));
            return Ok(());
        }
        self.push(b"\"");
        let mut rest = text;
        while let Some((before, (name, after))) =
            rest.split_once("{{").and_then(|(before, after)| Some((before, after.split_once("}}")?)))
        {
            self.push(escaped(before).as_bytes());
            self.parts.push(Part::InText(find(name)?));
            rest = after;
        }
        self.push(escaped(rest).as_bytes());
        self.push(b"\"");
        Ok(())
    }

    /// Appends bytes that are the same in each request.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        match self.parts.last_mut() {
            Some(Part::Text(text)) => text.extend_from_slice(bytes),
            _ => self.parts.push(Part::Text(bytes.to_vec())),
        }
    }

    /// Appends the id.
    pub(super) fn push_id(&mut self) {
        self.parts.push(Part::Value(Slot::Id));
    }

    /// Appends another template.
    pub(super) fn append(&mut self, other: Self) {
        for part in other.parts {
            match part {
                Part::Text(text) => self.push(&text),
                slot => self.parts.push(slot),
            }
        }
    }

    /// The length in bytes, if it is the same for all values.
    pub(super) fn fixed_len(&self) -> Option<usize> {
        let length = |part: &Part| match part {
            Part::Text(text) => Some(text.len()),
            Part::Value(Slot::Id) => Some(ID_DIGITS),
            Part::Value(_) | Part::InText(_) => None,
        };
        self.parts.iter().map(length).sum()
    }

    /// Writes the JSON with these values.
    pub(super) fn fill(&self, out: &mut Vec<u8>, values: Values<'_>) {
        for part in &self.parts {
            match part {
                Part::Text(text) => out.extend_from_slice(text),
                Part::Value(slot) => fill_slot(out, *slot, values, false),
                Part::InText(slot) => fill_slot(out, *slot, values, true),
            }
        }
    }
}

fn fill_slot(out: &mut Vec<u8>, slot: Slot, values: Values<'_>, in_text: bool) {
    let number = match slot {
        Slot::Id => return out.extend_from_slice(&digits(values.id)),
        Slot::Iteration => values.iteration,
        Slot::User => values.user,
        Slot::Cursor => {
            return out.extend_from_slice(Value::from(values.cursor.unwrap_or_default()).to_string().as_bytes());
        }
        Slot::Column(column) => {
            return out.extend_from_slice(values.data.cell(values.iteration, column, in_text).as_bytes());
        }
    };
    // Writing to a vector cannot fail.
    let _ = write!(out, "{number}");
}

/// The last digits of a number.
fn digits(mut number: u64) -> [u8; ID_DIGITS] {
    let mut digits = [b'0'; ID_DIGITS];
    for digit in digits.iter_mut().rev() {
        // The remainder is a digit.
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
    digits
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fill(value: &Value) -> Result<Value, String> {
        let slots = |name: &str| match name {
            "iteration" => Some(Slot::Iteration),
            "user" => Some(Slot::User),
            "cursor" => Some(Slot::Cursor),
            _ => None,
        };
        let template = Template::new(value, &slots)?;
        let values = Values { id: 0, iteration: 41, user: 3, cursor: Some("a\"b"), data: &DataSet::default() };
        let mut bytes = Vec::new();
        template.fill(&mut bytes, values);
        Ok(serde_json::from_slice(&bytes).expect("JSON"))
    }

    #[test]
    fn a_sole_placeholder_is_the_value_and_others_are_text() {
        let value = json!({ "a": "{{iteration}}", "b": "\"{{ user }}\" of {{iteration}}{{user}}", "c": ["{{cursor}}", []],
            "d": {}, "e\"": null, "f": "{{ open", "g": "}} {{" });
        let expected = json!({ "a": 41, "b": "\"3\" of 413", "c": ["a\"b", []], "d": {}, "e\"": null, "f": "{{ open",
            "g": "}} {{" });
        assert_eq!(fill(&value), Ok(expected));
        assert_eq!(fill(&json!("{{usr}}")), Err("usr".to_owned()));
        assert_eq!(fill(&json!({ "x": ["a {{ row }}"] })), Err("row".to_owned()));
    }
}
