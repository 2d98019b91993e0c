//! Forms: the flat schemas of elicitation, their defaults and validation (2025-11-25 and 2026-07-28, elicitation,
//! "Requested Schema").
//!
//! A JSON Schema validator checks the constraints. Schemas that the specification excludes (nesting, references) are
//! rejected first.

use serde_json::{Map, Value, json};

use crate::validation;

/// Maximum number of fields.
const FIELDS: usize = 200;
/// Keywords of a field, without `pattern`.
const KEYWORDS: [&str; 13] = [
    "type",
    "enum",
    "oneOf",
    "minLength",
    "maxLength",
    "format",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "items",
    "anyOf",
    "const",
];

/// A form.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    fields: Vec<FormField>,
}

/// A field of a form.
#[derive(Debug, Clone, PartialEq)]
pub struct FormField {
    /// Its name in the response.
    pub name: String,
    /// Whether a value is required.
    pub required: bool,
    /// The initial value.
    pub default: Option<Value>,
    /// Its schema: type, title, description, choices and constraints.
    pub schema: Map<String, Value>,
}

/// A problem with a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldProblem {
    /// The name of the field.
    pub field: String,
    /// The problem.
    pub problem: String,
}

impl Form {
    /// Parses the `requestedSchema` of an elicitation.
    pub(super) fn read(schema: &Value) -> Result<Self, String> {
        let empty = Map::new();
        let properties = match schema.get("properties") {
            None => &empty,
            Some(properties) => properties.as_object().ok_or("`properties` is not an object")?,
        };
        if schema.get("type") != Some(&Value::from("object")) {
            return Err("the requested schema is not an object schema".into());
        }
        if properties.len() > FIELDS {
            return Err(format!("the form has more than {FIELDS} fields"));
        }
        let required = schema.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let fields = properties.iter().map(|(name, schema)| {
            let required = required.iter().any(|entry| entry == name);
            FormField::read(name, schema, required).map_err(|reason| format!("field `{name}`: {reason}"))
        });
        Ok(Self { fields: fields.collect::<Result<_, _>>()? })
    }

    /// The fields, in the server's order.
    #[must_use]
    pub fn fields(&self) -> &[FormField] {
        &self.fields
    }

    /// Adds defaults to the content and validates it.
    ///
    /// # Errors
    /// All fields that are invalid, missing or unknown.
    pub fn fill(&self, mut content: Map<String, Value>) -> Result<Map<String, Value>, Vec<FieldProblem>> {
        let mut problems = Vec::new();
        let mut complain = |field: &str, problem: String| {
            problems.push(FieldProblem { field: field.to_owned(), problem });
        };
        let mut filled = Map::new();
        for field in &self.fields {
            match content.remove(&field.name).or_else(|| field.default.clone()) {
                Some(value) => {
                    if let Some(problem) = field.problem_with(&value) {
                        complain(&field.name, problem);
                    }
                    filled.insert(field.name.clone(), value);
                }
                None if field.required => complain(&field.name, "a value is required".into()),
                None => {}
            }
        }
        for name in content.keys() {
            complain(name, "the form has no such field".into());
        }
        if problems.is_empty() { Ok(filled) } else { Err(problems) }
    }
}

impl FormField {
    fn read(name: &str, schema: &Value, required: bool) -> Result<Self, String> {
        let schema = schema.as_object().ok_or("its schema is not an object")?;
        let kind = schema.get("type").and_then(Value::as_str).ok_or("it has no type")?;
        match kind {
            "string" | "number" | "integer" | "boolean" => {}
            "array" => {
                let items = schema.get("items").and_then(Value::as_object).ok_or("an array without `items`")?;
                if !["enum", "anyOf", "oneOf"].iter().any(|key| items.get(*key).is_some_and(Value::is_array)) {
                    return Err("an array that is not a choice".into());
                }
            }
            other => return Err(format!("type `{other}` is not allowed in a form")),
        }
        let field =
            Self { name: name.to_owned(), required, default: schema.get("default").cloned(), schema: schema.clone() };
        let validator = field.validator()?;
        // An invalid default would be rejected if the user accepts it unchanged.
        let default = field.default.clone().filter(|default| validator.is_valid(default));
        Ok(Self { default, ..field })
    }

    fn validator(&self) -> Result<jsonschema::Validator, String> {
        validator(&Value::Object(bare(&self.schema)))
    }

    fn problem_with(&self, value: &Value) -> Option<String> {
        let validator = self.validator().ok()?;
        validator.iter_errors(value).next().map(|error| error.to_string())
    }
}

/// A schema of a field means the same in all drafts. The rules for schemas of this one are the quickest to compile.
fn validator(schema: &Value) -> Result<jsonschema::Validator, String> {
    validation::options()
        .with_draft(jsonschema::Draft::Draft7)
        .should_validate_formats(true)
        .build(schema)
        .map_err(|error| format!("invalid schema: {error}"))
}

/// The constraints only.
fn bare(schema: &Map<String, Value>) -> Map<String, Value> {
    let kept = schema.iter().filter(|(keyword, value)| match keyword.as_str() {
        // The engine has no look-around and no references to groups. The server has to check such a pattern itself.
        "pattern" => !value.is_string() || validator(&json!({ "pattern": value })).is_ok(),
        keyword => KEYWORDS.contains(&keyword),
    });
    kept.map(|(keyword, value)| (keyword.clone(), inner(keyword, value))).collect()
}

fn inner(keyword: &str, value: &Value) -> Value {
    match (keyword, value) {
        ("items", Value::Object(schema)) => Value::Object(bare(schema)),
        ("oneOf" | "anyOf", Value::Array(choices)) => choices
            .iter()
            .map(|choice| choice.get("const").map_or_else(|| json!(false), |constant| json!({ "const": constant })))
            .collect(),
        _ => value.clone(),
    }
}

#[cfg(test)]
mod tests;
