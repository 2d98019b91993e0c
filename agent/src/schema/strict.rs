//! Limits of OpenAI's strict mode (OpenAI, structured outputs, supported schemas).

use serde_json::{Map, Value};

use super::converter::ConversionError;

const PROPERTIES: usize = 5_000;
const LEVELS: usize = 10;
const LETTERS: usize = 120_000;
const VALUES: usize = 1_000;
/// Above this number of values, the characters of one list are limited too.
const LONG_LIST: usize = 250;
const LONG_LIST_LETTERS: usize = 15_000;

#[derive(Debug, Default)]
struct Numbers {
    properties: usize,
    levels: usize,
    letters: usize,
    values: usize,
    long_list: usize,
}

/// Checks the limits of strict mode.
pub(super) fn within_limits(schema: &Map<String, Value>) -> Result<(), ConversionError> {
    let mut numbers = Numbers::default();
    numbers.count(schema, 0);
    let over = [
        (numbers.properties, PROPERTIES, "properties"),
        (numbers.levels, LEVELS, "levels of objects"),
        (numbers.letters, LETTERS, "characters of names and values"),
        (numbers.values, VALUES, "values in lists"),
        (numbers.long_list, LONG_LIST_LETTERS, "characters in one long list of values"),
    ];
    match over.into_iter().find(|(number, limit, _)| number > limit) {
        Some((number, limit, what)) => Err(ConversionError::Unfit {
            at: String::new(),
            why: format!("{number} {what}; strict mode accepts {limit}"),
        }),
        None => Ok(()),
    }
}

impl Numbers {
    fn count(&mut self, schema: &Map<String, Value>, level: usize) {
        if let Some(Value::Object(properties)) = schema.get("properties") {
            self.levels = self.levels.max(level + 1);
            self.properties += properties.len();
            self.letters += properties.keys().map(|name| name.chars().count()).sum::<usize>();
            properties.values().for_each(|property| self.count_in(property, level + 1));
        }
        if let Some(Value::Object(definitions)) = schema.get("$defs") {
            self.letters += definitions.keys().map(|name| name.chars().count()).sum::<usize>();
            definitions.values().for_each(|definition| self.count_in(definition, 0));
        }
        if let Some(Value::Array(values)) = schema.get("enum") {
            let letters = values.iter().filter_map(Value::as_str).map(|text| text.chars().count()).sum::<usize>();
            self.values += values.len();
            self.letters += letters;
            if values.len() > LONG_LIST {
                self.long_list = self.long_list.max(letters);
            }
        }
        if let Some(items) = schema.get("items") {
            self.count_in(items, level);
        }
        if let Some(Value::Array(choices)) = schema.get("anyOf") {
            choices.iter().for_each(|choice| self.count_in(choice, level));
        }
    }

    fn count_in(&mut self, schema: &Value, level: usize) {
        if let Value::Object(map) = schema {
            self.count(map, level);
        }
    }
}
