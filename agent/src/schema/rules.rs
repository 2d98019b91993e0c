//! The rules of each provider as data, and a check of tool definitions against them.
//!
//! `rules/*.json` contains a JSON Schema for the definition of a tool, and rules that JSON Schema cannot express: totals,
//! positions of references, and lists that must match. This module does not use the conversion code, so that a
//! misunderstanding cannot confirm itself.

mod walk;

use std::sync::LazyLock;

use jsonschema::Validator;
use serde::Deserialize;
use serde_json::Value;

use super::Provider;

/// A violation of a provider's rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Location in the definition as a JSON pointer.
    pub at: String,
    /// Description of the violation.
    pub what: String,
}

/// The rules of one provider.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Rules {
    /// Sources of the rules.
    #[serde(rename = "sources")]
    _sources: Vec<String>,
    /// JSON pointer to the schema of the arguments.
    parameters: String,
    recursion: Recursion,
    /// Whether each object must require all its properties.
    all_required: bool,
    /// Whether each name in `required` must be a property.
    required_is_described: bool,
    limits: Limits,
    /// JSON Schema of the definition.
    definition: Value,
}

/// Where recursive references are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Recursion {
    /// Everywhere.
    Anywhere,
    /// Only in optional properties.
    InOptionalProperties,
    /// References are not supported.
    None,
}

/// Limits on the whole schema.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
struct Limits {
    properties: Option<usize>,
    object_levels: Option<usize>,
    letters: Option<usize>,
    values: Option<usize>,
    long_list_values: Option<usize>,
    long_list_letters: Option<usize>,
}

struct Checker {
    rules: Rules,
    definition: Validator,
}

impl Checker {
    fn new(text: &str) -> Self {
        let rules: Rules = serde_json::from_str(text).expect("a test reads each file of rules");
        let definition = jsonschema::validator_for(&rules.definition).expect("a test compiles each file of rules");
        Self { rules, definition }
    }
}

macro_rules! checker {
    ($file:literal) => {
        LazyLock::new(|| Checker::new(include_str!(concat!("rules/", $file, ".json"))))
    };
}

static OPENAI: LazyLock<Checker> = checker!("openai");
static OPENAI_STRICT: LazyLock<Checker> = checker!("openai-strict");
static ANTHROPIC: LazyLock<Checker> = checker!("anthropic");
static GEMINI: LazyLock<Checker> = checker!("gemini");
static GEMINI_JSON_SCHEMA: LazyLock<Checker> = checker!("gemini-json-schema");

/// Checks a definition against the rules of its provider.
#[must_use]
pub fn violations(provider: Provider, definition: &Value) -> Vec<Violation> {
    // Chat Completions wraps the definition in an envelope.
    let unwrapped;
    let definition = if provider == Provider::OpenAiChat {
        let (Some("function"), Some(Value::Object(function))) =
            (definition.get("type").and_then(Value::as_str), definition.get("function"))
        else {
            let what = "a tool of Chat Completions must have `type: function` and a `function`".to_owned();
            return vec![Violation { at: String::new(), what }];
        };
        let mut flat = function.clone();
        flat.insert("type".into(), "function".into());
        unwrapped = Value::Object(flat);
        &unwrapped
    } else {
        definition
    };
    let checker = match provider {
        Provider::OpenAi | Provider::OpenAiChat if definition.get("strict") == Some(&Value::Bool(true)) => {
            &*OPENAI_STRICT
        }
        Provider::OpenAi | Provider::OpenAiChat => &*OPENAI,
        Provider::Anthropic => &*ANTHROPIC,
        Provider::Gemini => &*GEMINI,
        Provider::GeminiJsonSchema => &*GEMINI_JSON_SCHEMA,
    };
    let mut found: Vec<Violation> = checker
        .definition
        .iter_errors(definition)
        .take(20)
        .map(|error| Violation { at: error.instance_path().to_string(), what: short(&error.to_string()) })
        .collect();
    if provider == Provider::OpenAiChat && definition["name"].as_str().is_some_and(|name| name.len() > 64) {
        found.push(Violation { at: "/function/name".into(), what: "longer than 64 characters".into() });
    }
    if let Some(parameters) = definition.pointer(&checker.rules.parameters) {
        walk::walk(&checker.rules, parameters, &mut found);
    }
    found
}

fn short(text: &str) -> String {
    let mut text = text.to_owned();
    if let Some((cut, _)) = text.char_indices().nth(200) {
        text.truncate(cut);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_of_rules_is_valid_and_names_its_sources() {
        for checker in [&OPENAI, &OPENAI_STRICT, &ANTHROPIC, &GEMINI, &GEMINI_JSON_SCHEMA] {
            assert!(!checker.rules._sources.is_empty());
            assert!(!checker.definition.is_valid(&Value::Null));
        }
    }
}
